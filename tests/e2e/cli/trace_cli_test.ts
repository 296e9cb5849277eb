import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startCommand } from "../../harness/process/running_command.ts";
import {
  forwardedTrace,
  refusedTrace,
  toJsonLines,
} from "../../harness/telemetry/sample_trace.ts";
import { TraceServer } from "../../harness/servers/trace_server.ts";

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function trace(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const { code, stdout, stderr } = await gatewayCommand({
    args: ["ctl", "proxy", "trace", ...args],
    env,
  }).output();
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}

function listener(port: number, gatewayName = "default", protocol = "HTTP") {
  return { gatewayName, port, protocol };
}

Deno.test("trace --raw prints each event as a line as soon as it comes", async () => {
  await using server = new TraceServer();
  await using command = startCommand({
    args: ["ctl", "proxy", "trace", "--raw", "--admin", server.address],
  });
  const stream = await server.nextStream();

  const [first, ...rest] = refusedTrace;
  assert(first);
  stream.send(first);
  await command.waitFor(/requestStarted/);
  stream.send(...rest);
  stream.end();

  assert.equal(await command.exited, 0);
  assert.equal(command.stdout(), toJsonLines(refusedTrace));
  assert.equal(command.stderr(), "");
});

Deno.test("trace in a pipe prints what happened as lines of text", async () => {
  await using server = new TraceServer();
  await using command = startCommand({
    args: ["ctl", "proxy", "trace", "--local", "--admin", server.address],
  });
  const stream = await server.nextStream();

  stream.send(...refusedTrace);
  stream.end();

  assert.equal(await command.exited, 0);
  assert.match(
    command.stdout(),
    /^ +90 µs +error +policy +401 jwt: token expired$/m,
  );
});

Deno.test("trace asks a gateway behind a unix socket", async () => {
  const folder = await Deno.makeTempDir();
  {
    await using server = new TraceServer({ unixPath: `${folder}/admin.sock` });
    await using command = startCommand({
      args: ["ctl", "proxy", "trace", "--raw", "--admin", server.address],
    });
    const stream = await server.nextStream();

    stream.send(...refusedTrace);
    stream.end();

    assert.equal(await command.exited, 0);
    assert.equal(command.stdout(), toJsonLines(refusedTrace));
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("trace selects the requests that its options describe", async () => {
  const port = freePort();
  await using server = new TraceServer({ listeners: [listener(port)] });
  const words = ["gateway/default", "--port", String(port), "--raw"];
  const filter = "request.path == '/a b'";
  await using command = startCommand({
    args: [
      ...["ctl", "proxy", "trace", ...words, "--admin", server.address],
      ...["--filter", filter, "--count", "2"],
    ],
  });
  const stream = await server.nextStream();

  stream.send(...refusedTrace, ...forwardedTrace);
  stream.end();

  assert.equal(await command.exited, 0);
  assert.deepEqual(
    Object.fromEntries(new URLSearchParams(server.queries[0])),
    { filter, count: "2", gateway: "default", port: String(port) },
  );
});

Deno.test("trace fails when the stream ends before the request does", async () => {
  for (const how of ["end", "cut"] as const) {
    await using server = new TraceServer();
    await using command = startCommand({
      args: ["ctl", "proxy", "trace", "--raw", "--admin", server.address],
    });
    const stream = await server.nextStream();

    stream.send(...refusedTrace.slice(0, 2));
    await command.waitFor(/initial request/);
    stream[how]();

    assert.equal(await command.exited, 1);
    assert.match(command.stderr(), /^gateway: Lost the trace: /);
    assert.equal(command.stdout(), toJsonLines(refusedTrace.slice(0, 2)));
  }
});

Deno.test("trace replays a file, of JSON Lines or as the gateway streamed it", async () => {
  const file = await Deno.makeTempFile();
  const lines = toJsonLines(refusedTrace);
  await Deno.writeTextFile(
    file,
    ": ready\n\n" + lines.replaceAll(/^\{/gm, "data: {"),
  );

  const { code, stdout } = await trace(["--file", file, "--raw"]);

  assert.equal(code, 0);
  assert.equal(stdout, lines);
  await Deno.remove(file);
});

Deno.test("trace names the line of a file that is not an event", async () => {
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, `${toJsonLines(refusedTrace)}nonsense\n`);

  const { code, stderr } = await trace(["--file", file]);

  assert.equal(code, 1);
  assert.match(
    stderr,
    /^gateway: Cannot read "[^"]+" at line 5: expected JSON: /,
  );
  await Deno.remove(file);
});

const rejections: readonly {
  readonly name: string;
  readonly refusal: Response;
  readonly code: number;
  readonly stderr: RegExp;
}[] = [
  {
    name: "a bad filter is wrong usage",
    refusal: new Response(
      "invalid expression: nope\nusage:\n  GET or POST /debug/trace\n",
      { status: 400 },
    ),
    code: 2,
    stderr: /^gateway: Cannot trace: invalid expression: nope\n$/,
  },
  {
    name: "a gateway without traces says so",
    refusal: new Response("not found", { status: 404 }),
    code: 1,
    stderr: /it has no \/debug\/trace\n.*-p <port> or --admin <address>/,
  },
  {
    name: "any other rejection is passed on",
    refusal: new Response("too many watchers", { status: 503 }),
    code: 1,
    stderr: /returned 503: too many watchers/,
  },
];
for (const { name, refusal, code, stderr } of rejections) {
  Deno.test(`trace: ${name}`, async () => {
    await using server = new TraceServer({ refusal });

    const finished = await trace(["--admin", server.address]);

    assert.equal(finished.code, code);
    assert.equal(finished.stdout, "");
    assert.match(finished.stderr, stderr);
  });
}

Deno.test("trace of a gateway that does not run reports how to find it", async () => {
  const { code, stderr } = await trace([
    ...["-p", String(freePort())],
    ...["--port", "3000"],
  ]);

  assert.equal(code, 1);
  assert.match(stderr, /Cannot reach the admin interface .*refused/);
  assert.match(stderr, /-p <port> or --admin <address>/);
});

const url = "http://api.example.com/mcp";
const usages: readonly (readonly [args: readonly string[], stderr: RegExp])[] =
  [
    [["a", "b"], /expected one gateway\/<name>, got also "b"/],
    [["gateway/x", url], /the URL comes after --/],
    [["service/x"], /expected gateway\/<name>, got "service\/x"/],
    [["--", "api.example.com"], /expected an http:\/\/ or https:\/\/ URL/],
    [["--"], /the URL after -- is missing/],
    [["--", url, "-X", "POST", url], /one URL, got also "http:/],
    [
      ["--filter", "true", "--", url],
      /"--filter", "--count" and "--follow" cannot be used together/,
    ],
    [["--file", "x", "--local"], /"--file" can only be combined with "--raw"/],
    [["--count", "0"], /Expected a whole number from 1/],
    [["--port", "x"], /Expected a port/],
    [["-p", "1", "--admin", "unix:/x"], /cannot be used with/],
  ];
for (const [args, stderr] of usages) {
  Deno.test(`trace ${args.join(" ")} is wrong usage`, async () => {
    const finished = await trace(args);

    assert.equal(finished.code, 2);
    assert.match(finished.stderr, stderr);
  });
}

const targets: readonly (readonly [args: readonly string[], stderr: RegExp])[] =
  [
    [
      ["gateway/other"],
      /Cannot find gateway "other": expected one of "default", "secure"/,
    ],
    [
      ["--port", "9"],
      /Cannot trace port 9: .* expected one of 3000, 3001, 8443/,
    ],
    [
      ["--", url],
      /Several listeners match; select one with --port 3000 or --port 3001/,
    ],
    [
      ["--port", "8443", "--", url],
      /listener of port 8443 uses https, but the URL http$/m,
    ],
    [
      ["--port", "3000", "--", "https://api.example.com"],
      /listener of port 3000 uses http, but the URL https$/m,
    ],
  ];
for (const [args, stderr] of targets) {
  Deno.test(`trace ${args.join(" ")} fails when it fits no listener`, async () => {
    await using server = new TraceServer({
      listeners: [
        listener(3000),
        listener(3001),
        listener(8443, "secure", "HTTPS"),
      ],
    });

    const finished = await trace(["--admin", server.address, ...args]);

    assert.equal(finished.code, 1);
    assert.match(finished.stderr, stderr);
  });
}

for (const flag of ["-p", "--admin-port", "--port"]) {
  Deno.test(`${flag} chooses the admin port in commands that have no other`, async () => {
    const port = freePort();
    const { code, stderr } = await gatewayCommand({
      args: ["ctl", "proxy", "limits", flag, String(port)],
    }).output();

    assert.equal(code, 1);
    assert.match(
      new TextDecoder().decode(stderr),
      new RegExp(`Cannot reach the admin interface at localhost:${port}: `),
    );
  });
}
