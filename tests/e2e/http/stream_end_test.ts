import assert from "node:assert/strict";
import { createAuthority } from "../../harness/login/certificates.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";

const authority = await createAuthority();
const tls = await authority.issueServer(["localhost", "127.0.0.1"]);

for (const version of ["HTTP/1.1", "HTTP/2"] as const) {
  Deno.test(`a client that closes its stream of events over ${version} is logged without an error`, async () => {
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
    }, { protocol: "HTTPS", tls });
    using client = Deno.createHttpClient({
      caCerts: [authority.cert],
      http1: version === "HTTP/1.1",
      http2: version === "HTTP/2",
    });
    const user = new AbortController();
    const response = await fetch(`https://127.0.0.1:${gateway.port}/mcp`, {
      headers: { accept: "text/event-stream" },
      signal: user.signal,
      client,
    });
    const reader = response.body?.getReader();
    await reader?.read();

    user.abort();
    await reader?.closed.catch(() => {});
    await left.promise;
    const metrics = await gateway.gateway.dataPlane.call("collectMetrics");
    await gateway.gateway.stop(0);

    const [line = ""] = gateway.accessLog.join("").split("\n");
    assert.match(line, /\tinfo\t.* http\.status=200 .* reason=client_closed /);
    assert(line.includes(`http.version=${version}`), line);
    assert.doesNotMatch(line, /error=/);
    assert.match(metrics, /status="200",reason="client_closed"\} 1/);
  });
}
