import assert from "node:assert/strict";
import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";
import {
  forwardedTrace,
  refusedTrace,
  requestState,
  toJsonLines,
  traceEvent,
} from "../../harness/telemetry/sample_trace.ts";
import {
  gatewayCommandLine,
  Terminal,
} from "../../harness/process/terminal.ts";
import { TraceServer } from "../../harness/servers/trace_server.ts";

const sizes = [[80, 24], [200, 50]] as const;
const trace = ["ctl", "proxy", "trace"];

async function withFile(
  events: readonly TraceEvent[],
  run: (file: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/trace.jsonl`;
  await Deno.writeTextFile(file, toJsonLines(events));
  try {
    await run(file);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Opens a terminal and replays a trace in it. */
async function replay(
  file: string,
  [columns, rows]: readonly [number, number],
  env: Readonly<Record<string, string>> = {},
): Promise<Terminal> {
  const terminal = await Terminal.open(columns, rows, env);
  await terminal.run(gatewayCommandLine([...trace, "--file", file]));
  await terminal.waitFor(/complete/);
  return terminal;
}

for (const size of sizes) {
  const [columns, rows] = size;

  Deno.test(`the terminal UI at ${columns}x${rows} shows events, the selected one, and its keys`, async () => {
    await withFile(forwardedTrace, async (file) => {
      await using terminal = await replay(file, size);

      await terminal.waitFor(
        /^ trace of .*trace\.jsonl/,
        /▶ Events 13\/13/,
        /^> +3\.90 ms +info +requestFinished[ ·]+200/m,
        columns < 100
          ? /backendCallResult +returned 200 in 3\.40 ms/
          : /backendCallResult +━+ +returned 200 in 3\.40 ms/,
        /type: requestFinished/,
        /13 events, complete/,
        /q quit .*\/ find {2}n next/,
      );
      assert.equal(await terminal.state("alternate_on"), "1");
      assert.equal(await terminal.state("cursor_flag"), "0");
    });
  });

  Deno.test(`the terminal UI at ${columns}x${rows} obeys every key`, async () => {
    await withFile(forwardedTrace, async (file) => {
      await using terminal = await replay(file, size);

      const first = /Events 1\/13.*\n?[\s\S]*^> .*requestStarted/m;
      const last = /^> .*requestFinished/m;
      const pageBelow = columns === 80 ? /^> .*bodySnapshot/m : last;
      await terminal.press("Up");
      await terminal.waitFor(/^> .*final response: 200/m);
      await terminal.press("Down");
      await terminal.waitFor(last);
      await terminal.press("k");
      await terminal.waitFor(/^> .*final response: 200/m);
      await terminal.press("j");
      await terminal.waitFor(last);
      await terminal.press("g");
      await terminal.waitFor(first);
      await terminal.press("G");
      await terminal.waitFor(last);
      await terminal.press("C-b", "C-b");
      await terminal.waitFor(first);
      await terminal.press("C-f");
      await terminal.waitFor(pageBelow);
      await terminal.press("Home");
      await terminal.waitFor(first);
      await terminal.press("PageDown");
      await terminal.waitFor(pageBelow);
      await terminal.press("PageUp");
      await terminal.waitFor(/^> .*requestStarted/m);
      await terminal.press("End");
      await terminal.waitFor(/^> .*requestFinished/m);

      await terminal.press("s");
      await terminal.waitFor(/Detail: snapshot, yaml[\s\S]*final response/);
      await terminal.press("f");
      await terminal.waitFor(/Detail: snapshot, json[\s\S]*"request": \{/);
      await terminal.press("d");
      await terminal.waitFor(/final request → final response/);
      await terminal.waitFor(/\+ response\.code: 200/);
      await terminal.press("e");
      await terminal.waitFor(/Detail: raw event, json[\s\S]*"eventEnd": 3900/);

      await terminal.press("/");
      await terminal.waitFor(/search: _/);
      await terminal.type("X-TEAN");
      await terminal.press("BSpace");
      await terminal.type("M");
      await terminal.waitFor(/search: X-TEAM_/);
      await terminal.press("Enter");
      const inRequest = [/^> .*final request: POST/m, /json 21\/\d+/];
      const inResponse = [/^> .*final response: 200/m, /json 21\/\d+/];
      await terminal.waitFor(...inRequest);
      await terminal.press("n");
      await terminal.waitFor(...inResponse);
      await terminal.press("N");
      await terminal.waitFor(...inRequest);
      await terminal.press("/");
      await terminal.type("missing");
      await terminal.press("Enter");
      await terminal.waitFor(/not found: "missing"/);
      await terminal.press("/");
      await terminal.waitFor(/esc cancel/);
      await terminal.press("Escape");
      await terminal.waitFor(/q quit/);

      await terminal.press("Tab");
      await terminal.waitFor(/▶ Detail/, /^(?!.*▶ Events)/s);
      await terminal.press("BTab");
      await terminal.waitFor(/▶ Events/);
      await terminal.press("Enter");
      await terminal.waitFor(/▶ Detail/);
      await terminal.press("Escape");
      await terminal.waitFor(/▶ Events/);
      await terminal.press("?");
      await terminal.waitFor(
        /^ \/ n N +search both panes; next and previous match$/m,
        /^ :<number> +open the request of this number$/m,
        /any key closes/,
      );
      await terminal.press("x");
      await terminal.waitFor(/▶ Events/);
      await terminal.press(":");
      await terminal.waitFor(
        /^:_$/m,
        /enter run {2}tab complete {2}esc cancel/,
      );
      await terminal.type("qit");
      await terminal.press("Enter");
      await terminal.waitFor(/unknown command: "qit"; did you mean "quit"\?/);
      await terminal.press(":");
      await terminal.type("q");
      await terminal.press("Tab");
      await terminal.waitFor(/^:quit_$/m);
      await terminal.press("Enter");
      await terminal.waitFor(/^shell> *$/m);
    });
  });
}

Deno.test("the terminal UI scrolls the detail pane when it has the focus", async () => {
  await withFile(forwardedTrace, async (file) => {
    await using terminal = await replay(file, [80, 24]);
    await terminal.press("s", "Tab");
    const first = await terminal.waitFor(/snapshot, yaml 1\/(\d+)/);
    const [, count = ""] = /snapshot, yaml 1\/(\d+)/.exec(first) ?? [];

    await terminal.press("Down");
    await terminal.waitFor(new RegExp(` 2/${count}`));
    await terminal.press("PageDown");
    await terminal.waitFor(new RegExp(` 12/${count}`));
    await terminal.press("End");
    await terminal.waitFor(new RegExp(` ${count}/${count}`));
    await terminal.press("PageUp", "Up", "Home");
    await terminal.waitFor(
      new RegExp(` 1/${count}`),
      /^> .*requestFinished/m,
    );
  });
});

Deno.test("the terminal UI follows the size of its terminal", async () => {
  await withFile(forwardedTrace, async (file) => {
    await using terminal = await replay(file, [80, 24]);

    await terminal.resize(200, 60);
    await terminal.waitFor(
      /▶ Events.*│ ─ Detail/,
      /requestStarted +· +request accepted/,
    );
    await terminal.resize(30, 8);
    await terminal.waitFor(/requires 40x10; q quits/);
    await terminal.resize(80, 24);
    await terminal.waitFor(
      /^─ Detail/m,
      /^> .*requestFinished +200/m,
      /bodySnapshot .*…$/m,
    );
  });
});

Deno.test("the terminal UI shows events as they come, and reports that the stream died", async () => {
  await using server = new TraceServer();
  await using terminal = await Terminal.open(80, 24);
  await terminal.run(
    gatewayCommandLine([...trace, "--admin", server.address]),
  );
  const stream = await server.nextStream();
  await terminal.waitFor(/waiting for a request…/);

  stream.send(...refusedTrace.slice(0, 2));
  await terminal.waitFor(/2 events, in progress/);
  await terminal.press("Home");
  await terminal.waitFor(/Events 1\/2/);
  stream.send(...refusedTrace.slice(2, 3));
  await terminal.waitFor(/Events 1\/3[\s\S]*401 jwt: token expired/);
  stream.end();
  await terminal.waitFor(/3 events; Lost the trace: /);
  await terminal.press("Down", "d");
  await terminal.waitFor(
    /Events 2\/3[\s\S]*initial request: first snapshot/,
  );

  await terminal.press("q");
  await terminal.waitFor(/gateway: Lost the trace: /);
  await terminal.run("echo code=$?");
  await terminal.waitFor(/code=1/);
});

Deno.test("the terminal UI ends the request that it sent when the user leaves", async () => {
  const closed = Promise.withResolvers<void>();
  await using listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response(new ReadableStream({ cancel: () => closed.resolve() })),
  );
  const { port } = listener.addr;
  const listeners = [{ gatewayName: "default", port, protocol: "HTTP" }];
  await using admin = new TraceServer({ listeners });
  await using terminal = await Terminal.open(80, 24);
  const url = "http://anna:secret@api.example.com/events?key=secret";
  await terminal.run(
    gatewayCommandLine([...trace, "--admin", admin.address, "--", url]),
  );
  const stream = await admin.nextStream();
  stream.send(...refusedTrace.slice(0, 2));
  const screen = await terminal.waitFor(
    /2 events, in progress/,
    /^ trace of http:\/\/api\.example\.com\/events *$/m,
  );
  assert.doesNotMatch(screen, /secret/);

  await terminal.press("q");

  await closed.promise;
  await terminal.waitFor(/^shell> *$/m);
});

Deno.test("a user who quits before the first event gets exit code 1", async () => {
  await using admin = new TraceServer();
  await using terminal = await Terminal.open(80, 24);
  await terminal.run(gatewayCommandLine([...trace, "--admin", admin.address]));
  await admin.nextStream();
  await terminal.waitFor(/waiting for a request/);

  await terminal.press("q");

  await terminal.waitFor(/^shell> *$/m);
  await terminal.run("echo code=$?");
  await terminal.waitFor(/code=1$/m);
});

/** Leaves the program in some way; the command line that starts it gets its process id into `pidFile`. */
const departures: readonly {
  readonly how: string;
  readonly code: number;
  leave(terminal: Terminal, pid: number): void | Promise<void>;
}[] = [
  { how: "q", code: 0, leave: (terminal) => terminal.press("q") },
  { how: "Ctrl-C", code: 0, leave: (terminal) => terminal.press("C-c") },
  { how: "SIGINT", code: 130, leave: (_, pid) => Deno.kill(pid, "SIGINT") },
  { how: "SIGTERM", code: 143, leave: (_, pid) => Deno.kill(pid, "SIGTERM") },
  { how: "SIGHUP", code: 129, leave: (_, pid) => Deno.kill(pid, "SIGHUP") },
];
for (const { how, code, leave } of departures) {
  Deno.test(`the terminal is restored after ${how}`, async () => {
    await withFile(forwardedTrace, async (file) => {
      await using terminal = await Terminal.open(80, 24);
      const pidFile = `${file}.pid`;
      const line = gatewayCommandLine([...trace, "--file", file]);
      const script = `${file}.sh`;
      await Deno.writeTextFile(script, `echo $$ > ${pidFile}\nexec ${line}\n`);
      const before = await settings(terminal, `${file}.before`);
      await terminal.run(`sh ${script}`);
      await terminal.waitFor(/complete/);

      await leave(terminal, Number(await Deno.readTextFile(pidFile)));

      await terminal.waitFor(/^shell> *$/m);
      await terminal.run("echo code=$?");
      await terminal.waitFor(new RegExp(`code=${code}$`, "m"));
      assert.equal(await settings(terminal, `${file}.after`), before);
      assert.equal(await terminal.state("alternate_on"), "0");
      assert.equal(await terminal.state("cursor_flag"), "1");
      assert.equal(await terminal.state("wrap_flag"), "1");
    });
  });
}

Deno.test("the terminal UI suspends with Ctrl-Z and continues with fg", async () => {
  await withFile(forwardedTrace, async (file) => {
    await using terminal = await Terminal.open(80, 24);
    const before = await settings(terminal, `${file}.before`);
    await terminal.run(gatewayCommandLine([...trace, "--file", file]));
    await terminal.waitFor(/complete/);
    await terminal.press("Home");
    await terminal.waitFor(/Events 1\//);

    await terminal.press("C-z");
    await terminal.waitFor(/^shell> *$/m);
    assert.equal(await terminal.state("alternate_on"), "0");
    assert.equal(await terminal.state("cursor_flag"), "1");
    assert.equal(await settings(terminal, `${file}.stopped`), before);

    await terminal.run("fg");
    await terminal.waitFor(/Events 1\//, /complete/);
    assert.equal(await terminal.state("alternate_on"), "1");
    await terminal.press("Down");
    await terminal.waitFor(/Events 2\//);

    await terminal.press("q");
    await terminal.waitFor(/^shell> *$/m);
    assert.equal(await settings(terminal, `${file}.after`), before);
  });
});

for (const bug of ["when it draws", "in a promise", "in a timer"]) {
  Deno.test(`the terminal is restored after a crash ${bug}, which is reported`, async () => {
    const folder = await Deno.makeTempDir();
    {
      await using terminal = await Terminal.open(80, 24);
      const before = await settings(terminal, `${folder}/before`);
      const main = new URL(
        "../../harness/process/crashing_tui.ts",
        import.meta.url,
      );

      const command = [Deno.execPath(), "run", "-A", main.pathname].join(" ");
      await terminal.run(`${command} "${bug}"`);

      await terminal.waitFor(new RegExp(`Error: a bug ${bug}`));
      assert.equal(await settings(terminal, `${folder}/after`), before);
      assert.equal(await terminal.state("alternate_on"), "0");
      assert.equal(await terminal.state("cursor_flag"), "1");
    }
    await Deno.remove(folder, { recursive: true });
  });
}

/** Returns the output of `stty`, by way of `file`. */
async function settings(terminal: Terminal, file: string): Promise<string> {
  const mark = crypto.randomUUID().slice(0, 8);
  // The quotes tell the answer from what was typed.
  await terminal.run(`clear; stty -g > ${file}; echo done-'${mark}'`);
  await terminal.waitFor(new RegExp(`^done-${mark}$`, "m"));
  return await Deno.readTextFile(file);
}

Deno.test("the terminal UI reads a trace from standard input and keys from the terminal", async () => {
  await withFile(refusedTrace, async (file) => {
    await using terminal = await Terminal.open(80, 24);
    const line = gatewayCommandLine([...trace, "--file", "-"]);
    await terminal.run(`cat ${file} | ${line}`);
    await terminal.waitFor(/4 events, complete/);

    await terminal.press("Home");

    await terminal.waitFor(/^> .*requestStarted/m);
    await terminal.press("q");
    await terminal.waitFor(/^shell> *$/m);
  });
});

const hostile = [
  traceEvent({ type: "requestStarted" }),
  traceEvent({
    type: "requestSnapshot",
    stage: "initial request",
    requestState: requestState({
      "x-hostile": "\x1b]0;owned\x07\x1b[2J\x1b[31mred\u009b2J\u202eright",
      "x-wide": "日本語テキスト👩‍🚀 e\u0301",
    }),
  }),
  traceEvent({
    type: "policyEvent",
    kind: "jwt",
    details: "\x1b[2J\x1b]0;owned\x07日本語",
  }),
];

for (const size of sizes) {
  Deno.test(`no trace controls the terminal at ${size.join("x")}`, async () => {
    await withFile(hostile, async (file) => {
      await using terminal = await replay(file, size);
      await terminal.press("Up", "s", "f", "Tab", "/");
      await terminal.type("x-hostile");
      await terminal.press("Enter");
      const screen = await terminal.waitFor(
        /^ trace of /,
        /x-wide/,
        /日本語/,
        /jwt: ␛\[2J␛\]0;owned␇日本/,
      );

      // JSON has escapes of its own for the first ones.
      assert.match(
        screen.replaceAll("\n", ""),
        /\\u001b\]0;owned\\u0007\\u001b\[2J\\u001b\[31mred\\u\{9b\}2J\\u\{202e\}right/,
      );
      assert.notEqual(await terminal.state("pane_title"), "owned");
    });
  });
}

for (
  const [how, prefix] of [
    ["can do nothing", "TERM=dumb"],
    ["says nothing of itself", "env -u TERM"],
    ["cannot be asked for keys", "</dev/null"],
  ] as const
) {
  Deno.test(`a terminal that ${how} gets lines of text`, async () => {
    await withFile(forwardedTrace, async (file) => {
      await using terminal = await Terminal.open(80, 24);
      const line = gatewayCommandLine([...trace, "--file", file]);
      await terminal.run(`${prefix} ${line}; echo code=$?`);
      await terminal.waitFor(/code=0$/m, /info +requestFinished +200$/m);
      assert.equal(await terminal.state("alternate_on"), "0");
    });
  });
}

Deno.test("severities have colours, but for NO_COLOR, and words anyway", async () => {
  await withFile(refusedTrace, async (file) => {
    await using coloured = await replay(file, [80, 24], { NO_COLOR: "" });
    await using plain = await replay(file, [80, 24], { NO_COLOR: "1" });
    const red = /\[[0-9;]*31m/;
    const drawn = [/ error +policy/, /^>/m, /q quit/];
    await coloured.waitFor(...drawn);
    await plain.waitFor(...drawn);

    assert.match(await coloured.colours(), red);
    assert.doesNotMatch(await plain.colours(), /\[(?:[0-9;]*;)?3[0-7]m/);
  });
});
