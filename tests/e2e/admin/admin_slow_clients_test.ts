/** Clients of the admin port that begin a request and do not end it. */
import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";

const clients = 200;
/** `drainTimeout` of the configuration below, and what a slow machine takes to end a process. */
const drainMs = 2000;
const slowMs = 20_000;
const config = { config: { drainTimeout: "2s" }, routes: [] };

/** As many connections, each with a part of a request, closed when disposed. */
async function openHalfRequests(port: number): Promise<AsyncDisposable> {
  const connections = await Promise.all(
    Array.from({ length: clients }, async (_, at) => {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      const head = "GET /config_dump HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
      await connection.write(new TextEncoder().encode(head.slice(0, at)));
      return connection;
    }),
  );
  return {
    [Symbol.asyncDispose]() {
      for (const connection of connections) connection.close();
      return Promise.resolve();
    },
  };
}

for (
  const [name, end] of [
    ["/quitquitquit", async (gateway: GatewayProcess) => {
      const url = `${gateway.admin}/quitquitquit`;
      const response = await fetch(url, { method: "POST" });
      assert.equal(await response.text(), "shutdown now\n");
    }],
    ["SIGTERM", (gateway: GatewayProcess) => {
      gateway.signal("SIGTERM");
      return Promise.resolve();
    }],
  ] as const
) {
  Deno.test(`gateway ends on ${name} although ${clients} clients of the admin port are in the middle of a request`, async () => {
    await using gateway = await GatewayProcess.start({ config });
    const { port } = new URL(gateway.admin);
    await using _slow = await openHalfRequests(Number(port));
    const dump = await fetch(`${gateway.admin}/config_dump`);
    await dump.body?.cancel();

    const startedAt = performance.now();
    await end(gateway);
    const code = await gateway.exitCode();
    const elapsed = performance.now() - startedAt;

    assert.equal(dump.status, 200);
    assert.equal(code, 0);
    assert.ok(elapsed < drainMs + slowMs, `${elapsed} ms`);
  });
}
