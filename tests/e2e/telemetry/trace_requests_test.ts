import assert from "node:assert/strict";
import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";
import { until } from "../../harness/servers/held_upstream.ts";
import { startCommand } from "../../harness/process/running_command.ts";
import {
  forwardedTrace,
  refusedTrace,
  toJsonLines,
} from "../../harness/telemetry/sample_trace.ts";
import {
  gatewayCommandLine,
  Terminal,
} from "../../harness/process/terminal.ts";
import {
  type ScriptedStream,
  TraceServer,
} from "../../harness/servers/trace_server.ts";

const sizes = [[80, 24], [200, 50]] as const;
const trace = ["ctl", "proxy", "trace"];
/** Of `--follow`. */
const LANES = 8;

async function nextStreams(
  server: TraceServer,
): Promise<readonly ScriptedStream[]> {
  const streams: ScriptedStream[] = [];
  while (streams.length < LANES) streams.push(await server.nextStream());
  return streams;
}

async function withFolder(
  run: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function replay(
  terminal: Terminal,
  folder: string,
  events: readonly TraceEvent[],
): Promise<void> {
  await Deno.writeTextFile(`${folder}/saved.jsonl`, toJsonLines(events));
  await terminal.run(`cd ${folder}`);
  const args = [...trace, "--file", "saved.jsonl"];
  await terminal.run(gatewayCommandLine(args));
  await terminal.waitFor(/complete/);
}

for (const [columns, rows] of sizes) {
  Deno.test(`trace --follow lists requests live at ${columns}x${rows}`, async () => {
    await using server = new TraceServer();
    await using terminal = await Terminal.open(columns, rows);
    const args = [...trace, "--admin", server.address, "--follow"];
    await terminal.run(gatewayCommandLine(args));
    await terminal.waitFor(/^waiting for a request…/m, /▶ Requests ─/);
    const [first, second] = await nextStreams(server);
    assert(first && second);

    // Two at the same time.
    first.send(...forwardedTrace.slice(0, 3));
    await terminal.waitFor(/^>00:00:00 … +POST/m);
    second.send(...refusedTrace);
    await terminal.waitFor(
      /^>00:00:00 401 +POST +120 µs [ ━]+ api\.example\.com\/mcp/m,
      /2 requests, 1 failed, live/,
    );
    first.send(...forwardedTrace.slice(3));
    await terminal.waitFor(
      /^ 00:00:00 200 +POST +3\.90 ms ━━━━━━━━+ api\.example\.com\/mcp/m,
    );

    // The selection stays when more arrive.
    await terminal.press("g", "Enter");
    await terminal.waitFor(/Events 13\/13/, /request 1: 13 events, complete/);
    second.send(...refusedTrace);
    await terminal.press("Escape");
    await terminal.waitFor(/Requests 1\/3/, /^>00:00:00 200/m);
    await terminal.press("G");
    await terminal.waitFor(/Requests 3\/3/);
    first.send(...refusedTrace);
    await terminal.waitFor(/Requests 4\/4/, /4 requests, 3 failed, live/);

    await terminal.press("q");
    await terminal.waitFor(/^shell> *$/m);
  });

  Deno.test(`requests of a saved trace are separate at ${columns}x${rows}`, async () => {
    await withFolder(async (folder) => {
      await using terminal = await Terminal.open(columns, rows);
      await replay(terminal, folder, [...forwardedTrace, ...refusedTrace]);
      await terminal.waitFor(/Requests 2\/2/, /2 requests, 1 failed, complete/);

      await terminal.press("/");
      await terminal.type("x-team");
      await terminal.press("Enter");
      await terminal.waitFor(/Requests 1\/2/);
      await terminal.press("Enter");
      await terminal.waitFor(/Events 13\/13/, /^> .*requestFinished/m);
      await terminal.press("]");
      await terminal.waitFor(/Events 3\/4/, /^> .*401 jwt: token expired/m);
      await terminal.press("[");
      await terminal.waitFor(/Events 13\/13/);
      await terminal.press(":", "2", "Enter");
      await terminal.waitFor(/request 2: 4 events, complete · 401/);
      await terminal.press(":", "9", "Enter");
      await terminal.waitFor(/^no request 9/m);
      await terminal.press(":", "r", "e", "q", "Enter");
      await terminal.waitFor(/Requests 2\/2/);
    });
  });

  Deno.test(`w saves a request or all of them at ${columns}x${rows}`, async () => {
    await withFolder(async (folder) => {
      await using terminal = await Terminal.open(columns, rows);
      await replay(terminal, folder, [...forwardedTrace, ...refusedTrace]);

      await terminal.press("w");
      await terminal.waitFor(/^:write traces\.jsonl_/m);
      await terminal.press("Enter");
      await terminal.waitFor(/^saved to traces\.jsonl/m);
      await terminal.press("Enter", "w", "Enter");
      await terminal.waitFor(/^saved to trace-2\.jsonl/m);
      await terminal.press("w", "Enter");
      await terminal.waitFor(
        /^cannot save to trace-2\.jsonl: the file exists/m,
      );

      const read = (name: string) => Deno.readTextFile(`${folder}/${name}`);
      const { mode } = await Deno.stat(`${folder}/trace-2.jsonl`);
      assert.equal(await read("traces.jsonl"), await read("saved.jsonl"));
      assert.equal(await read("trace-2.jsonl"), toJsonLines(refusedTrace));
      assert.equal((mode ?? 0) & 0o777, 0o600);
    });
  });

  Deno.test(`y copies a field to the clipboard at ${columns}x${rows}`, async () => {
    await withFolder(async (folder) => {
      await using terminal = await Terminal.open(columns, rows);
      await replay(terminal, folder, forwardedTrace);

      await terminal.press("s", "Tab", "j", "j", "j", "y");
      await terminal.waitFor(/^copied the field: 26 characters/m);
      assert.equal(await terminal.clipboard(), "http://api.example.com/mcp");

      await terminal.press("e", "f", "Tab", "y");
      await terminal.waitFor(/^copied the details: \d+ characters/m);
      const last = forwardedTrace.at(-1);
      assert.deepEqual(JSON.parse(await terminal.clipboard()), last);
    });
  });
}

Deno.test("r sends the request again and shows its trace", async () => {
  const received: string[] = [];
  await using listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      received.push(request.headers.get("x-team") ?? "");
      return new Response();
    },
  );
  const { port } = listener.addr;
  const listeners = [{ gatewayName: "default", port, protocol: "HTTP" }];
  await using admin = new TraceServer({ listeners });
  await using terminal = await Terminal.open(80, 24);
  const request = ["http://api.example.com/mcp", "-H", "x-team: blue"];
  const args = [...trace, "--admin", admin.address, "--", ...request];
  await terminal.run(gatewayCommandLine(args));
  const first = await admin.nextStream();
  first.send(...refusedTrace);
  first.end();
  await terminal.waitFor(/4 events, complete · 401/);

  await terminal.press("r");
  const second = await admin.nextStream();
  await terminal.waitFor(/^sent again, waiting for its trace…/m);
  second.send(...forwardedTrace);
  second.end();

  await terminal.waitFor(/Events 13\/13/, /request 2: 13 events, complete/);
  // curl may be slower than the trace.
  await until(() => received.length === 2);
  assert.deepEqual(received, ["blue", "blue"]);
  const [filter, other] = admin.queries;
  assert.notEqual(filter, other);
  await terminal.press("q");
  await terminal.waitFor(/^shell> *$/m);
});

Deno.test("only a request that was sent can be repeated", async () => {
  await withFolder(async (folder) => {
    await using terminal = await Terminal.open(80, 24);
    await replay(terminal, folder, forwardedTrace);

    await terminal.press("r");

    await terminal.waitFor(
      /^only a request that follows -- can be sent again/m,
    );
  });
});

Deno.test("trace --follow prints whole requests, whichever ends first", async () => {
  await using server = new TraceServer();
  const args = [...trace, "--follow", "--admin", server.address];
  await using raw = startCommand({ args: [...args, "--raw"] });
  const [first, second] = await nextStreams(server);
  assert(first && second);
  first.send(...forwardedTrace.slice(0, 3));
  second.send(...refusedTrace);
  await raw.waitFor(/requestFinished/);
  first.send(...forwardedTrace.slice(3));
  await raw.waitFor(/requestFinished[^]*requestFinished/);

  raw.signal("SIGTERM");
  await raw.exited;

  assert.equal(raw.stdout(), toJsonLines([...refusedTrace, ...forwardedTrace]));
});

Deno.test("trace --count separates requests with an empty line", async () => {
  await using server = new TraceServer();
  const args = [...trace, "--count", "2", "--admin", server.address];
  await using text = startCommand({ args });
  const stream = await server.nextStream();
  stream.send(...refusedTrace, ...refusedTrace);
  stream.end();

  assert.equal(await text.exited, 0);
  const [first, second, ...more] = text.stdout().split("\n\n");
  assert.equal(`${first}\n`, second);
  assert.deepEqual(more, []);
});

Deno.test("trace rejects --follow together with --count or a URL", async () => {
  for (
    const { args, message } of [
      { args: ["--count", "2"], message: /--follow has no end/ },
      { args: ["--", "http://a/"], message: /together with a URL/ },
      { args: ["--file", "-"], message: /a saved trace has no gateway/ },
    ]
  ) {
    await using command = startCommand({
      args: [...trace, "--follow", ...args],
    });

    assert.equal(await command.exited, 2);
    assert.match(command.stderr(), message);
  }
});
