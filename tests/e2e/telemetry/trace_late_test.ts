import assert from "node:assert/strict";
import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";

Deno.test("a request that is given up tells whom it waited for, and nothing after its end", async () => {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await using idp = new RawUpstream(async (connection) => {
    const head = await connection.request();
    if (!head.includes("/.well-known/")) return;
    asked.resolve();
    await released.promise;
    const endpoint = "https://idp.example/";
    await connection.send(answer(JSON.stringify({
      authorization_endpoint: endpoint,
      token_endpoint: endpoint,
    })));
  });
  const issuer = `http://127.0.0.1:${idp.port}/`;
  await using gateway = await startTracedGateway({
    routes: [{
      name: "mcp",
      policies: {
        jwtAuthentication: {
          providers: [{ issuer, jwks: { url: `${issuer}keys` } }],
          mcp: { provider: "IdpA" },
        },
      },
      backends: [{ host: "127.0.0.1:1" }],
    }],
  });
  const url = `${gateway.origin}/.well-known/oauth-authorization-server/mcp`;
  const stream = await gateway.watch({ count: 2 });
  const types: string[] = [];
  const waits: unknown[] = [];
  const read = async (events: AsyncIterable<TraceEvent>) => {
    for await (const { severity, message } of events) {
      const { type } = message;
      types.push(type);
      if (type === "policyEvent") waits.push([severity, message.details]);
      if (type === "requestFinished") released.resolve();
    }
  };
  const reading = read(stream);

  const leaving = new AbortController();
  const left = fetch(url, { signal: leaving.signal }).catch(() => {});
  await asked.promise;
  leaving.abort();
  await left;
  await released.promise;
  const { status } = await fetchRaw(url);
  await reading;

  assert.equal(status, 200);
  const end = types.indexOf("requestFinished");
  assert.equal(types[end + 1], "requestStarted", types.join());
  assert.deepEqual(waits[0], ["warn", {
    waitedFor: `metadata of ${issuer}`,
    error: "Cannot respond: the client disconnected",
  }]);
});
