/** Programs as MCP servers: their processes, what reaches them, and what is left of them. */
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { text } from "../../../cli/dev/mcp/offer.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  type Documents,
  startReloadableGateway,
} from "../../harness/gateway/reloadable_gateway.ts";
import {
  isAlive,
  stdioServer,
  untilGone,
} from "../../harness/mcp/stdio_processes.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startCommand } from "../../harness/process/running_command.ts";
import { callModern, listTools } from "../../harness/mcp/modern_call.ts";

/** Starts a gateway with the program as a server without prefix; keys `one` and `two` are two users. */
function start(
  stdio: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
) {
  const keys = ["one", "two"].map((key) => ({
    key,
    metadata: { name: key },
  }));
  return startTestGateway({
    routes: [{
      policies: { apiKeyAuthentication: { keys, mode: "Optional" } },
      backends: [{
        mcp: { servers: [{ name: "demo", stdio: stdioServer(stdio) }] },
      }],
    }],
    ...more,
  });
}

/** Calls a tool as a user; returns the JSON of its text. */
async function call(
  origin: string,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  user = "",
) {
  const { result } = await callModern(
    `${origin}/mcp`,
    "tools/call",
    {
      name,
      arguments: args,
    },
    user === "" ? {} : { headers: { authorization: `Bearer ${user}` } },
  );
  const [{ text }] = result.content;
  return result.isError === true ? text : JSON.parse(text);
}

Deno.test("a program gets only what the configuration names", async () => {
  Deno.env.set("STDIO_TEST_SECRET", "not for programs");
  await using gateway = await start({
    env: { API_KEY: "s3cret-value" },
    cwd: Deno.cwd(),
  });

  const { env, cwd } = await call(gateway.origin, "facts");

  Deno.env.delete("STDIO_TEST_SECRET");
  const inherited = ["PATH", "HOME", "LANG", "TMPDIR", "TZ"];
  const named = Object.keys(env).filter((name) => !inherited.includes(name));
  assert.deepEqual(named, ["API_KEY"]);
  assert.equal(env.API_KEY, "s3cret-value");
  assert.equal(cwd, Deno.cwd());
});

Deno.test("each user has a process, and lists need none of them", async () => {
  await using gateway = await start();
  const { origin } = gateway;

  const tools = await listTools(`${origin}/mcp`);
  const one = await call(origin, "facts", {}, "one");
  const again = await call(origin, "facts", {}, "one");
  const two = await call(origin, "facts", {}, "two");

  assert.equal(tools.includes("facts"), true);
  assert.deepEqual([one.calls, again.calls, two.calls], [1, 2, 1]);
  assert.equal(again.pid, one.pid);
  assert.notEqual(two.pid, one.pid);
});

Deno.test("a shared process serves all users", async () => {
  await using gateway = await start({ share: "All" });
  const { origin } = gateway;

  const one = await call(origin, "facts", {}, "one");
  const two = await call(origin, "facts", {}, "two");

  assert.deepEqual([two.pid, two.calls], [one.pid, 2]);
});

Deno.test("nothing is left of processes when the gateway stops, also of what they have started", async () => {
  const gateway = await start();
  const { pid } = await call(gateway.origin, "facts");
  const child = await call(gateway.origin, "spawn");
  assert.deepEqual([isAlive(pid), isAlive(child)], [true, true]);

  await gateway[Symbol.asyncDispose]();

  // SIGKILL needs a moment on a busy machine.
  await Promise.all([untilGone(pid), untilGone(child)]);
});

Deno.test("a process that nobody uses is ended, and started for the next call", async () => {
  await using gateway = await start({ idleTimeout: "100ms" });
  const first = await call(gateway.origin, "facts");

  await untilGone(first.pid);
  const second = await call(gateway.origin, "facts");

  assert.notEqual(second.pid, first.pid);
  assert.equal(second.calls, 1);
  // A process is forgotten once: the next one in its place is not.
  await untilGone(second.pid);
  const third = await call(gateway.origin, "facts");
  assert.equal(third.calls, 1);
});

Deno.test("a process that ends is a failed call for those who wait, and another one serves the next", async () => {
  await using gateway = await start();
  const { origin } = gateway;
  const waits = call(origin, "wait", { ms: 60_000 });
  let first = await call(origin, "facts");
  while (first.waiting === 0) first = await call(origin, "facts");

  const [ended, waiting] = await Promise.all([call(origin, "exit"), waits]);
  assert.equal(ended, 'MCP server "demo" ended with code 3');
  assert.equal(waiting, ended);

  const next = await call(origin, "facts");
  assert.notEqual(next.pid, first.pid);
});

Deno.test("after processes that end in a row, calls fail for a moment", async () => {
  await using gateway = await start();
  const { origin } = gateway;
  const ended = await call(origin, "exit");

  assert.equal(await call(origin, "exit"), ended);
  const early = await call(origin, "facts");

  assert.equal(early, ended);
  let next = early;
  while (next === ended) next = await call(origin, "facts");
  assert.equal(next.calls, 1);
});

for (const stream of ["input", "output"]) {
  Deno.test(`a process that has closed its standard ${stream} is ended, and another one serves the next call`, async () => {
    const server = new URL(
      "../../harness/mcp/closing_server.sh",
      import.meta.url,
    );
    const command = { command: "/bin/sh", args: [fileURLToPath(server)] };
    await using gateway = await start(command);
    const { origin } = gateway;
    const pid = await call(origin, "pid");

    const closing = await call(origin, stream);
    const failed = stream === "input" ? await call(origin, "pid") : closing;

    assert.equal(failed, `MCP server "demo" closed its standard ${stream}`);
    await untilGone(pid);
    assert.notEqual(await call(origin, "pid"), pid);
  });
}

Deno.test("a process that takes too much memory is ended", async () => {
  await using gateway = await start({ maxMemoryBytes: 400 * 2 ** 20 });
  const { pid } = await call(gateway.origin, "facts");

  const result = await call(gateway.origin, "hoard", { bytes: 600 * 2 ** 20 });

  assert.equal(
    result,
    'MCP server "demo" used more than 400 MiB of memory',
  );
  await untilGone(pid);
});

Deno.test("a message without end ends the process", async () => {
  await using gateway = await start();

  assert.equal(
    await call(gateway.origin, "flood"),
    'MCP server "demo" sent a message that is too long',
  );
});

Deno.test("standard error is in the log, bounded and without secrets and colors", async () => {
  await using gateway = await start({ env: { API_KEY: "s3cret-value" } });

  await call(gateway.origin, "complain", {
    text: "\u001b[31mdenied\u001b[0m with s3cr\u001b[1met-value",
    times: 500,
  });
  await gateway[Symbol.asyncDispose]();

  const lines = gateway.log.filter((line) => line.includes("denied with"));
  assert.equal(lines.length > 0 && lines.length < 100, true);
  assert.match(lines[0] ?? "", /server=demo text="denied with <redacted>"/);
  assert.equal(gateway.log.some((line) => line.includes("s3cret")), false);
});

Deno.test("when all processes are in use, calls of further users fail, and the server stays", async () => {
  await using gateway = await start({ maxProcesses: 1 });
  const { origin } = gateway;
  const { pid } = await call(origin, "facts", {}, "one");
  const waiting = call(origin, "wait", { ms: 1500 }, "one");

  const denied = await call(origin, "facts", {}, "two");
  assert.equal(
    denied,
    'MCP server "demo" has 1 processes, and all are in use',
  );
  assert.equal((await listTools(`${origin}/mcp`)).includes("facts"), true);
  assert.equal(await waiting, pid);

  // The process of the first user is not in use any more.
  const two = await call(origin, "facts", {}, "two");
  assert.equal(isAlive(pid), false);
  assert.equal(two.calls, 1);
});

Deno.test("a program that does not exist, or ends at once, is a failed server", async () => {
  for (
    const [stdio, problem] of [
      [{ command: "no-such-program" }, "there is no such program"],
      [{ command: "false", args: [] }, "ended with code 1"],
    ] as const
  ) {
    await using gateway = await start(stdio);

    const result = await call(gateway.origin, "facts");

    assert.match(result, new RegExp(`^MCP server "demo" .*${problem}$`));
    const { result: { _meta } } = await callModern(
      `${gateway.origin}/mcp`,
      "tools/list",
    );
    const [{ name }] = _meta["gateway/unavailableServers"];
    assert.equal(name, "demo");
  }
});

for (const era of ["legacy", "modern"] as const) {
  Deno.test(`a client of the ${era} era is asked by a program, with several workers`, async () => {
    await using gateway = await start({}, { config: { workers: 2 } });
    const pids = new Set<number>();
    for (let round = 0; round < 3; round++) {
      const client = new Client({ name: "test", version: "1.0.0" }, {
        capabilities: { elicitation: {} },
        versionNegotiation: {
          mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" },
        },
      });
      client.setRequestHandler("elicitation/create", () => ({
        action: "accept" as const,
        content: { answer: "yes" },
      }));
      const url = new URL(`${gateway.origin}/mcp`);
      await client.connect(new StreamableHTTPClientTransport(url));

      const { content } = await client.callTool({ name: "ask" });
      assert.deepEqual(content, [
        text('{"action":"accept","content":{"answer":"yes"}}'),
      ]);
      const facts = await client.callTool({ name: "facts" });
      const [fact] = facts.content;
      if (fact?.type === "text") pids.add(JSON.parse(fact.text).pid);
      await client.close();
    }
    // One worker has the processes.
    assert.equal(pids.size, 1);
  });
}

Deno.test("a reload with another environment ends the processes", async () => {
  const documents = (version: string): Documents => [{
    routes: [{
      backends: [{
        mcp: {
          servers: [{
            name: "demo",
            stdio: stdioServer({ env: { VERSION: version } }),
          }],
        },
      }],
    }],
  }];
  await using gateway = await startReloadableGateway(documents("1"));
  const before = await call(gateway.origin, "facts");

  assert.equal(await gateway.reload(documents("1")), true);
  const same = await call(gateway.origin, "facts");
  assert.equal(await gateway.reload(documents("2")), true);
  const after = await call(gateway.origin, "facts");

  assert.deepEqual([before.env.VERSION, same.calls], ["1", 2]);
  assert.deepEqual([after.env.VERSION, after.calls], ["2", 1]);
  await untilGone(before.pid);
});

for (const workers of [1, 2]) {
  Deno.test(`nothing is left of processes when a gateway with workers: ${workers} is killed`, async () => {
    const port = freePort();
    const configuration = {
      config: { adminAddr: "off", statsAddr: "off", workers },
      gateways: { default: { port, address: "127.0.0.1" } },
      routes: [{
        backends: [{
          mcp: { servers: [{ name: "demo", stdio: stdioServer() }] },
        }],
      }],
    };
    const file = await Deno.makeTempFile({ suffix: ".json" });
    await Deno.writeTextFile(file, JSON.stringify(configuration));
    await using gateway = startCommand({ args: ["run", "-f", file] });
    await gateway.waitFor(/Configuration applied/);
    const origin = `http://127.0.0.1:${port}`;
    const { pid } = await call(origin, "facts");
    const child = await call(origin, "spawn");

    gateway.signal("SIGKILL");
    await gateway.exited;

    await untilGone(pid);
    await untilGone(child);
    await Deno.remove(file);
  });
}
