import assert from "node:assert/strict";
import { startTestGateway } from "../harness/gateway.ts";
import { RawUpstream } from "../harness/raw_upstream.ts";

Deno.test("a client that closes its stream of events is logged without an error, and is no failure", async () => {
  const left = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
    );
    await connection.closedByPeer();
    left.resolve();
  });
  await using gateway = await startTestGateway({
    routes: [{ backends: [{ host: `127.0.0.1:${upstream.port}` }] }],
  });
  const client = new AbortController();
  const response = await fetch(`${gateway.origin}/mcp`, {
    headers: { accept: "text/event-stream" },
    signal: client.signal,
  });
  const reader = response.body?.getReader();
  await reader?.read();

  client.abort();
  await reader?.closed.catch(() => {});
  await left.promise;
  const metrics = await gateway.gateway.dataPlane.collectMetrics();
  await gateway.gateway.stop(0);

  const [line = ""] = gateway.accessLog.join("").split("\n");
  assert.match(line, /\tinfo\t.* http\.status=200 .* reason=client_closed /);
  assert.doesNotMatch(line, /error=/);
  assert.match(metrics, /status="200",reason="client_closed"\} 1/);
});
