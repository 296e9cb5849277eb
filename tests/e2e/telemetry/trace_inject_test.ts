import assert from "node:assert/strict";
import { createAuthority } from "../../harness/login/certificates.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  type RecordedRequest,
  RecordingListener,
} from "../../harness/servers/recording_listener.ts";
import {
  type RunningCommand,
  startCommand,
} from "../../harness/process/running_command.ts";
import {
  refusedTrace,
  toJsonLines,
} from "../../harness/telemetry/sample_trace.ts";
import { TraceServer } from "../../harness/servers/trace_server.ts";

/** Everything that the executable needs to unpack itself, and no curl. */
const tools = "sh dd wc ls id rm mv head gzip tail tr chmod mkdir mktemp".split(
  " ",
);
const noCurl = { PATH: await linkTools(tools) };
const senders = [["curl", {}], ["our own client", noCurl]] as const;

globalThis.addEventListener("unload", () => {
  Deno.removeSync(noCurl.PATH, { recursive: true });
});

/** A directory with these programs of the system. */
async function linkTools(names: readonly string[]): Promise<string> {
  const directory = await Deno.makeTempDir();
  const places = Deno.env.get("PATH")?.split(":") ?? [];
  for (const name of names) {
    const found = places.map((place) => `${place}/${name}`).find(exists);
    if (found !== undefined) await Deno.symlink(found, `${directory}/${name}`);
  }
  return directory;
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

function adminFor(port: number, protocol = "HTTP"): TraceServer {
  const listeners = [{ gatewayName: "default", port, protocol }];
  return new TraceServer({ listeners });
}

function inject(
  admin: TraceServer,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningCommand {
  const words = ["gateway/default", "--raw", "--admin", admin.address];
  return startCommand({
    args: ["ctl", "proxy", "trace", ...words, "--", ...args],
    env,
  });
}

/** Sends a request whose trace the gateway has. */
async function injectOnce(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RecordedRequest> {
  await using listener = new RecordingListener();
  await using admin = adminFor(listener.port);
  await using command = inject(admin, args, env);
  const ended = command.exited.then(() =>
    Promise.reject(new Error(command.stderr()))
  );
  const stream = await Promise.race([admin.nextStream(), ended]);
  ended.catch(() => {});
  stream.send(...refusedTrace);
  stream.end();
  assert.equal(await command.exited, 0, command.stderr());
  assert.equal(command.stdout(), toJsonLines(refusedTrace));
  const [request, second] = listener.requests;
  assert(request);
  assert.equal(second, undefined);
  return request;
}

const url = "http://api.example.com:8080/mcp?a=1";

for (const [sender, env] of senders) {
  Deno.test(`trace sends a plain GET with ${sender}, with the host of the URL`, async () => {
    const { method, host, pathAndQuery, headers, body } = await injectOnce(
      [url],
      env,
    );

    assert.equal(method, "GET");
    assert.equal(pathAndQuery, "/mcp?a=1");
    assert.equal(host, "api.example.com:8080");
    assert.equal(headers.get("accept"), "*/*");
    assert.equal(body, "");
  });

  Deno.test(`trace sends method, headers and body with ${sender}`, async () => {
    const { method, headers, body } = await injectOnce([
      ...[url, "-X", "PUT", "-H", "x-team: blue", "-H", "Accept: text/plain"],
      ...["--data-raw", '{"a": "@b"}', "-u", "anna:secret", "-A", "agent/1"],
      ...["-b", "c=d", "-e", "http://referer.example.com/"],
    ], env);

    assert.equal(method, "PUT");
    assert.equal(headers.get("x-team"), "blue");
    assert.equal(headers.get("accept"), "text/plain");
    assert.equal(headers.get("authorization"), `Basic ${btoa("anna:secret")}`);
    assert.equal(headers.get("user-agent"), "agent/1");
    assert.equal(headers.get("cookie"), "c=d");
    assert.equal(headers.get("referer"), "http://referer.example.com/");
    assert.equal(
      headers.get("content-type"),
      "application/x-www-form-urlencoded",
    );
    assert.equal(body, '{"a": "@b"}');
  });

  Deno.test(`trace sends JSON, forms and queries with ${sender}`, async () => {
    const json = await injectOnce([url, "--json", "{}"], env);
    const form = await injectOnce([url, "-d", "a=1", "-d", "b=2"], env);
    const query = await injectOnce([url, "-G", "-d", "b=2"], env);
    const head = await injectOnce([url, "-I"], env);

    assert.equal(json.method, "POST");
    assert.equal(json.headers.get("content-type"), "application/json");
    assert.equal(json.headers.get("accept"), "application/json");
    assert.equal(json.body, "{}");
    assert.equal(form.body, "a=1&b=2");
    assert.equal(query.method, "GET");
    assert.equal(query.pathAndQuery, "/mcp?a=1&b=2");
    assert.equal(head.method, "HEAD");
  });

  Deno.test(`trace with ${sender} removes a header that is empty and reads files`, async () => {
    const file = await Deno.makeTempFile();
    await Deno.writeTextFile(file, "line 1\nline 2\n");

    const binary = await injectOnce(
      [url, "--data-binary", `@${file}`, "-H", "User-Agent:"],
      env,
    );
    const data = await injectOnce([url, "-d", `@${file}`, "-HX-A: 1"], env);

    assert.equal(binary.body, "line 1\nline 2\n");
    assert.equal(binary.headers.get("user-agent"), null);
    assert.equal(data.body, "line 1line 2");
    assert.equal(data.headers.get("x-a"), "1");
    await Deno.remove(file);
  });

  Deno.test(`trace shows only the request that ${sender} sends`, async () => {
    await using listener = new RecordingListener();
    await using admin = adminFor(listener.port);
    await using command = inject(admin, [url], env);
    const stream = await admin.nextStream();
    stream.send(...refusedTrace);
    stream.end();
    await command.exited;

    const filter = new URLSearchParams(admin.queries[0]).get("filter") ?? "";
    const [, first, last] =
      /^source\.port >= (\d+) && source\.port <= (\d+)$/.exec(filter) ?? [];
    const port = listener.requests[0]?.port ?? 0;
    assert(Number(first) <= port && port <= Number(last), `${port} ${filter}`);
  });

  Deno.test(`trace fails when ${sender} cannot connect`, async () => {
    await using admin = adminFor(freePort());
    await using command = inject(admin, [url], env);

    assert.equal(await command.exited, 1);
    assert.match(
      command.stderr(),
      /Cannot send the request: .*refused|connect/i,
    );
  });

  Deno.test(`trace fails when ${sender} was answered by a program that does not trace`, async () => {
    await using listener = new RecordingListener();
    await using admin = adminFor(listener.port);
    await using command = inject(admin, [url], env);

    assert.equal(await command.exited, 1);
    assert.match(command.stderr(), /got a response, but this gateway did not/);
  });

  Deno.test(`trace sends over TLS with ${sender}, to the name of the URL`, async () => {
    const authority = await createAuthority();
    const { cert, key } = await authority.issueServer(["api.example.com"]);
    await using listener = new RecordingListener({ cert, key });
    await using admin = adminFor(listener.port, "HTTPS");
    await using command = inject(
      admin,
      ["https://api.example.com/mcp", "-k"],
      env,
    );
    const stream = await admin.nextStream();
    stream.send(...refusedTrace);
    stream.end();

    assert.equal(await command.exited, 0, command.stderr());
    assert.equal(listener.requests[0]?.host, "api.example.com");
  });
}

Deno.test("trace sends with the curl that is first on the PATH", async () => {
  const other = await Deno.makeTempDir();
  await Deno.writeTextFile(
    `${other}/curl`,
    '#!/bin/sh\nexec /usr/bin/curl "$@"\n',
    { mode: 0o755 },
  );

  const { headers } = await injectOnce([url, "--compressed"], {
    PATH: `${other}:${Deno.env.get("PATH")}`,
  });

  await Deno.remove(other, { recursive: true });
  assert.match(headers.get("accept-encoding") ?? "", /gzip/);
});

Deno.test("trace without curl rejects an argument that it does not know, by name", async () => {
  await using admin = adminFor(freePort());
  await using command = inject(admin, [url, "--compressed"], noCurl);

  assert.equal(await command.exited, 2);
  assert.match(
    command.stderr(),
    /without curl, --compressed is not supported; supported are -X -H/,
  );
});

Deno.test("a proxy of the environment changes nothing about the request", async () => {
  const proxy = "http://127.0.0.1:9";

  const { host } = await injectOnce([url], {
    http_proxy: proxy,
    ALL_PROXY: proxy,
  });

  assert.equal(host, "api.example.com:8080");
});
