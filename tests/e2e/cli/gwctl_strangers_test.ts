/** Tests gwctl with an admin port that is not a gateway's. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { gatewayCommand } from "../../harness/process/executable.ts";
import {
  forwardedTrace,
  toJsonLines,
} from "../../harness/telemetry/sample_trace.ts";

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function gwctl(port: number, args: readonly string[]): Promise<Ran> {
  const folder = await Deno.makeTempDir();
  try {
    const { code, stdout, stderr } = await gatewayCommand({
      args: [...args, "-p", String(port)],
      asGwctl: true,
      env: { GATEWAY_ADMIN_TOKEN: "a-token-of-sixteen-characters" },
      cwd: folder,
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    // A profile that was not taken leaves no file.
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder)), []);
    return { code, stdout: text(stdout), stderr: text(stderr) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const plain = { "content-type": "text/plain; charset=utf-8" };
const escapes = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e";

function endless(type: string): Response {
  const chunk = new Uint8Array(1 << 20).fill(0x20);
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(chunk),
  });
  return new Response(body, { headers: { "content-type": type } });
}

/** Writes the text to the socket unchanged. */
function raw(text: string) {
  return async (connection: Deno.Conn): Promise<void> => {
    await connection.read(new Uint8Array(4096));
    await connection.write(new TextEncoder().encode(text));
    connection.close();
  };
}

interface OtherProgram {
  readonly name: string;
  readonly answer:
    | { readonly http: (request: Request) => Response }
    | { readonly tcp: (connection: Deno.Conn) => Promise<void> };
  /** Errors by command; those not given are the same as `log`. */
  readonly log: RegExp;
  readonly config?: RegExp;
  readonly profile?: RegExp;
}

const otherPrograms: readonly OtherProgram[] = [
  {
    name: "a page for every path",
    answer: {
      http: () =>
        new Response(`<html>${escapes}${"x".repeat(10_000_000)}</html>`, {
          headers: { "content-type": "text/html" },
        }),
    },
    log: /expected text\/plain, got 200 with text\/html/,
    config: /expected application\/json, got 200 with text\/html/,
    profile: /expected application\/octet-stream, got 200 with text\/html/,
  },
  {
    name: "a page that says 404",
    answer: {
      http: () =>
        new Response("<html>nginx</html>", {
          status: 404,
          headers: { "content-type": "text/html" },
        }),
    },
    log: /got 404 with text\/html/,
  },
  {
    name: "a redirect",
    answer: {
      http: (request) => Response.redirect(new URL("/elsewhere", request.url)),
    },
    log: /got 302\n/,
  },
  {
    name: "bytes of the right type",
    answer: {
      http: (request) => {
        const { pathname } = new URL(request.url);
        const type = pathname === "/logging"
          ? "text/plain"
          : pathname === "/config_dump"
          ? "application/json"
          : "application/octet-stream";
        const bytes = new Uint8Array(10_000_000).fill(0x9b);
        return new Response(bytes, { headers: { "content-type": type } });
      },
    },
    log: /it has no log level/,
    config: /is not valid JSON/,
    profile: /not a profile/,
  },
  {
    name: "a log level with escape sequences",
    answer: {
      http: () =>
        new Response(`current log level is ${escapes}\n`, { headers: plain }),
    },
    log: /it has no log level/,
    config: /expected application\/json, got 200 with text\/plain/,
    profile: /expected application\/octet-stream, got 200 with text\/plain/,
  },
  {
    name: "JSON with escape sequences, cut off",
    answer: {
      http: () =>
        new Response(`{"a": ${escapes}`, {
          headers: { "content-type": "application/json" },
        }),
    },
    log: /expected text\/plain, got 200 with application\/json/,
    config: /is not valid JSON/,
    profile: /got 200 with application\/json/,
  },
  {
    name: "JSON of another program",
    answer: { http: () => Response.json({ cluster: "search" }) },
    log: /got 200 with application\/json/,
    config: /it has no "version"/,
    profile: /got 200 with application\/json/,
  },
  {
    name: "a rejection of 10 MB with escape sequences",
    answer: {
      http: () =>
        new Response(escapes + "x".repeat(10_000_000), {
          status: 400,
          headers: plain,
        }),
    },
    log: /returned 400: ␛\]0;title␇␛\[2J\\u\{9b\}31m\\u\{202e\}x+\n$/,
  },
  {
    name: "a text without end",
    answer: { http: () => endless("text/plain") },
    log: /it has more than 64 MiB/,
    config: /expected application\/json, got 200 with text\/plain/,
    profile: /expected application\/octet-stream, got 200 with text\/plain/,
  },
  {
    name: "a body that is cut",
    answer: {
      tcp: raw(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\ncurrent log level is info\n",
      ),
    },
    log: /Lost the connection to localhost:[0-9]+: /,
    config: /got 200 with text\/plain/,
    profile: /got 200 with text\/plain/,
  },
  {
    name: "another protocol",
    answer: { tcp: raw(`SSH-2.0-${escapes}\r\n`) },
    log: /Cannot reach the admin interface at localhost:[0-9]+: /,
  },
  {
    name: "nothing, and hangs up",
    answer: { tcp: raw("") },
    log: /Cannot reach the admin interface at localhost:[0-9]+: /,
  },
];

/** Serves the responses of the program until disposed. */
function serve(
  { answer }: OtherProgram,
): AsyncDisposable & { readonly port: number; readonly paths: string[] } {
  const paths: string[] = [];
  if ("http" in answer) {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => {
        paths.push(new URL(request.url).pathname);
        return answer.http(request);
      },
    );
    return {
      port: server.addr.port,
      paths,
      [Symbol.asyncDispose]: () => server.shutdown(),
    };
  }
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const done = (async () => {
    for await (const connection of listener) await answer.tcp(connection);
  })();
  return {
    port: listener.addr.port,
    paths,
    async [Symbol.asyncDispose]() {
      listener.close();
      await done;
    },
  };
}

/** Nothing that a terminal could obey, and no more than a screen of text. */
function assertHarmless({ stdout, stderr }: Ran): void {
  assert.doesNotMatch(stdout + stderr, /[^\P{C}\n]/u);
  assert.equal(stdout, "");
  assert.ok(stderr.length < 5000, `${stderr.length} characters`);
}

for (const program of otherPrograms) {
  Deno.test(`gwctl rejects the response of ${program.name}`, async () => {
    await using server = serve(program);
    const { log, config = log, profile = log } = program;

    for (
      const [args, message] of [
        [["proxy", "log"], log],
        [["proxy", "config", "all"], config],
        [["proxy", "profile", "heap"], profile],
      ] as const
    ) {
      const ran = await gwctl(server.port, args);

      assert.equal(ran.code, 1);
      assert.match(ran.stderr, message);
      assertHarmless(ran);
    }
    // The token goes nowhere else.
    assert.ok(!server.paths.includes("/elsewhere"));
  });
}

const commands: readonly (readonly string[])[] = [
  ["proxy", "config", "all", "-o", "json"],
  ["proxy", "config", "backends"],
  ["proxy", "limits"],
  ["proxy", "log", "--level", "info"],
  ["proxy", "memory"],
  ["proxy", "memory", "-o", "yaml"],
  ["proxy", "tasks"],
  ["proxy", "tasks", "-o", "json"],
  ["proxy", "profile", "cpu", "--seconds", "1"],
  ["proxy", "profile", "heap"],
  ["proxy", "trace", "--raw"],
  ["explain"],
  ["explain", "some-id"],
];

for (const args of commands) {
  Deno.test(`gwctl ${args.join(" ")} rejects another server`, async () => {
    const html = { "content-type": "text/html" };
    for (
      const answer of [
        () => new Response(`<html>${escapes}`, { headers: html }),
        () => Response.json({ error: escapes }),
      ]
    ) {
      await using server = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {} },
        answer,
      );

      const ran = await gwctl(server.addr.port, args);

      assert.equal(ran.code, 1, ran.stdout);
      assert.match(ran.stderr, /^gwctl: (Cannot|Unexpected response of) /);
      assertHarmless(ran);
    }
  });
}

Deno.test("gwctl prints what it was told without escape sequences, and nothing else changed", async () => {
  const dump = { version: {}, [`key ${escapes}`]: [`value ${escapes}`, "👩‍🚀"] };
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json(dump),
  );
  const { port } = server.addr;

  const json = await gwctl(port, ["proxy", "config", "all", "-o", "json"]);
  const yaml = await gwctl(port, ["proxy", "config", "all", "-o", "yaml"]);

  assert.doesNotMatch(json.stdout + yaml.stdout, /[^\P{C}\n]/u);
  assert.deepEqual(JSON.parse(json.stdout), dump);
  assert.deepEqual(parse(yaml.stdout), dump);
});

Deno.test("gwctl proxy trace --raw prints what a client sent without escape sequences", async () => {
  const [line = ""] = toJsonLines(forwardedTrace).split("\n");
  const told = line.replace("{", '{"told":"\x9b31m\u202e",');
  const file = await Deno.makeTempFile({ suffix: ".jsonl" });
  await Deno.writeTextFile(file, told);
  try {
    const { stdout } = await gatewayCommand({
      args: ["ctl", "proxy", "trace", "--raw", "--file", file],
    }).output();

    const text = new TextDecoder().decode(stdout);
    assert.doesNotMatch(text, /[^\P{C}\n]/u);
    assert.deepEqual(JSON.parse(text), JSON.parse(told));
  } finally {
    await Deno.remove(file);
  }
});
