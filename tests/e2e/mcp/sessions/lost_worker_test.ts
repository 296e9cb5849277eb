/** The worker that has the processes of MCP servers ends: they end with it, and calls go on with others. */
import assert from "node:assert/strict";
import { textSource } from "../../../../mod.ts";
import { Gateway } from "../../../../src/gateway/gateway.ts";
import { breakWorker } from "../../../harness/gateway/worker_faults.ts";
import { callModern } from "../../../harness/mcp/modern_call.ts";
import {
  stdioServer,
  untilGone,
} from "../../../harness/mcp/stdio_processes.ts";
import { freePort } from "../../../harness/process/free_port.ts";
import { LogLines } from "../../../harness/telemetry/log_lines.ts";

Deno.test("no process is left of a worker that ends, and the next one starts others", async () => {
  const port = freePort();
  const log = new LogLines();
  await using _ = await startGateway(port, log);
  const before = await call(port, "facts");
  const child = await call(port, "spawn");

  breakWorker(1, "exit");

  await log.next(/Worker replaced worker=1/);
  await untilGone(before.pid);
  await untilGone(child);
  const after = await call(port, "facts");
  assert.notEqual(after.pid, before.pid);
});

async function startGateway(port: number, log: LogLines) {
  const writeLog = (lines: string) => {
    for (const line of lines.trimEnd().split("\n")) log.add(line);
  };
  const servers = [{ name: "demo", stdio: stdioServer() }];
  const gateway = await Gateway.start({
    config: textSource(JSON.stringify({
      gateways: { default: { port, address: "127.0.0.1" } },
      config: { workers: 2 },
      routes: [{ name: "tools", backends: [{ mcp: { servers } }] }],
    })),
    writeLog,
    workers: {
      entry: new URL(
        "../../../harness/gateway/faulty_worker.ts",
        import.meta.url,
      ),
      onLost: () => {},
      writeLog: (lines) => Promise.resolve(writeLog(lines)),
      writeAccessLog: () => Promise.resolve(),
    },
  });
  return { [Symbol.asyncDispose]: () => gateway.stop(0) };
}

/** Calls a tool; returns the JSON of its text. */
async function call(port: number, name: string) {
  const { result } = await callModern(
    `http://127.0.0.1:${port}/mcp`,
    "tools/call",
    { name, arguments: {} },
  );
  return JSON.parse(result.content[0].text);
}
