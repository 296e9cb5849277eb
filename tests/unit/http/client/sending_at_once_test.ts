import assert from "node:assert/strict";
import type { Upstream } from "../../../../src/http/client/upstream.ts";
import { createAuthority } from "../../../harness/login/certificates.ts";
import { NodeUpstream } from "../../../harness/servers/node_upstreams.ts";
import { answer, RawUpstream } from "../../../harness/clients/raw_upstream.ts";
import {
  exchange,
  PushBody,
  upstreamAt,
} from "../../../harness/clients/upstream_requests.ts";

/** Less than the minimum delayed-acknowledgement time of Linux. */
const HELD_BACK_MS = 35;

/** Returns the minimum duration, in milliseconds, of several exchanges with a chunked body. */
async function fastestExchange(upstream: Upstream): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 10; i++) {
    const body = new PushBody(3 * 1000);
    for (let piece = 0; piece < 3; piece++) body.push("x".repeat(1000));
    body.end();
    const startedAt = performance.now();
    assert.equal(await exchange(upstream, { method: "POST" }, body), "200 ok");
    times.push(performance.now() - startedAt);
  }
  return Math.min(...times.slice(1));
}

Deno.test("Upstream sends a chunked body without waiting for acknowledgements", async () => {
  await using server = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer("ok"));
    }
  });
  using upstream = upstreamAt(server.port);

  assert.ok(await fastestExchange(upstream) < HELD_BACK_MS);
});

for (const protocol of ["http1", "http2"] as const) {
  Deno.test(`Upstream does so over TLS with ${protocol}`, async () => {
    const authority = await createAuthority();
    const certificate = await authority.issueServer(["b.example"]);
    await using server = await NodeUpstream.http2OverTls(
      (stream) => {
        stream.on("end", () => {
          stream.respond({ ":status": 200 });
          stream.end("ok");
        }).resume();
      },
      { ...certificate, allowHTTP1: true },
      (request, response) =>
        void request.on("end", () => response.end("ok")).resume(),
    );
    const tls = {
      hostname: "b.example",
      subjectAltNames: [],
      caCertificates: [authority.cert],
    };
    using upstream = upstreamAt(server.port, { tls, protocol });

    assert.ok(await fastestExchange(upstream) < HELD_BACK_MS);
  });
}
