import assert from "node:assert/strict";
import { startLlmServer } from "../../../cli/dev/llm_server.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  budgetsOf,
  byUser,
  chat,
  type Fields,
  limitedRoute,
  send,
  textOf,
  upstreamThatSaysOk,
} from "../../harness/gateway/limited_gateway.ts";
import {
  type RateLimitServiceOptions,
  startRateLimitService,
} from "../../harness/servers/rate_limit_service.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

/** A service, and a gateway that asks it; `global` besides `domain`, `store` and `descriptors`. */
async function startServiceAndGateway(
  options: RateLimitServiceOptions = {},
  global: Fields = {},
) {
  const upstream = upstreamThatSaysOk();
  const service = await startRateLimitService(options);
  // A busy machine must not make requests fail that wait for the service.
  const clock = new FakeClock();
  const gateway = await startTestGateway(
    {
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        store: { service: { host: `127.0.0.1:${service.port}` } },
        descriptors: [byUser({ requests: 9 })],
        ...global,
      })],
    },
    {},
    [],
    { clock },
  );
  return {
    clock,
    gateway,
    service,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a rate limit service is called for each request, and its headers go both ways", async () => {
  const heads: string[] = [];
  await using upstream = new RawUpstream(async (connection) => {
    heads.push(await connection.request());
    await connection.send(answer("ok"));
  });
  await using service = await startRateLimitService({
    reply: () => ({
      overall_code: "OK",
      statuses: [{
        code: "OK",
        current_limit: { requests_per_unit: 9, unit: "HOUR" },
        limit_remaining: 4,
        duration_until_reset: { seconds: 60 },
      }],
      response_headers_to_add: [{ key: "x-plan", value: "gold" }],
      request_headers_to_add: [{ key: "x-tier", value: "one" }],
    }),
  });
  await using gateway = await startTestGateway(
    {
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        store: { service: { host: `127.0.0.1:${service.port}` } },
        descriptors: [byUser({ requests: 9 })],
      })],
    },
    {},
    [],
    { clock: new FakeClock() },
  );

  const { status, headers } = await send(gateway);

  assert.equal(status, 200);
  assert.equal(headers["x-plan"], "gold");
  assert.equal(headers["x-ratelimit-limit"], "9");
  assert.equal(headers["x-ratelimit-remaining"], "4");
  assert.equal(headers["x-ratelimit-reset"], "60");
  assert.equal(headers["x-ext-ratelimited"], undefined);
  assert.match(heads.join(""), /^x-tier: one\r$/m);
  assert.deepEqual(
    service.received.map(({ domain, descriptors }) => ({
      domain,
      entries: descriptors.flatMap(({ entries }) => entries),
    })),
    [{ domain: "fleet", entries: [{ key: "user", value: "anna" }] }],
  );
});

Deno.test("a rate limit service rejects with headers and a body of its own", async () => {
  await using test = await startServiceAndGateway({
    reply: () => ({
      overall_code: "OVER_LIMIT",
      statuses: [{
        code: "OVER_LIMIT",
        current_limit: { requests_per_unit: 9, unit: "HOUR" },
        duration_until_reset: { seconds: 60 },
      }],
      response_headers_to_add: [{ key: "x-plan", value: "free" }],
      raw_body: new TextEncoder().encode("buy more"),
    }),
  });

  const refused = await send(test.gateway);

  assert.equal(refused.status, 429);
  assert.equal(textOf(refused), "buy more");
  assert.equal(refused.headers["x-ext-ratelimited"], "true");
  assert.equal(refused.headers["x-plan"], "free");
  assert.equal(refused.headers["retry-after"], "60");
  assert.equal(refused.headers["x-ratelimit-limit"], "9");
  assert.equal(refused.headers["x-ratelimit-remaining"], "0");
});

for (const failureMode of ["Closed", "Open"]) {
  Deno.test(`while a rate limit service is down, failure mode ${failureMode} decides`, async () => {
    await using test = await startServiceAndGateway({}, { failureMode });
    const { clock, gateway, service } = test;
    const before = await send(gateway);

    service.stop();
    const down = await send(gateway);
    const [budget] = await budgetsOf(gateway);
    const metrics = await gateway.gateway.dataPlane.call("collectMetrics");
    const asked = service.received.length;
    await using again = await startRateLimitService({ port: service.port });
    while (again.received.length === 0) {
      clock.advance(1000);
      await send(gateway);
    }
    const back = await send(gateway);

    assert.equal(before.status, 200);
    assert.equal(asked, 1);
    if (failureMode === "Open") {
      assert.equal(down.status, 200);
    } else {
      assert.equal(down.status, 503);
      assert.equal(down.headers["retry-after"], "1");
      assert.equal(textOf(down), "rate limit failed");
      assert.equal(down.headers["x-ext-ratelimited"], undefined);
    }
    assert.equal(budget?.["scope"], `127.0.0.1:${service.port}/fleet`);
    assert.equal(budget["state"], "failing");
    assert.match(String(budget["lastError"]), /Call to the rate limit service/);
    assert.match(
      metrics,
      /shared_requests_total\{[^}]*,result="failed"\} 1\n/,
    );
    assert.match(metrics, /gateway_rate_limit_shared_failing\{[^}]*\} 1\n/);
    assert.equal(back.status, 200);
  });
}

Deno.test("a rate limit service hears of the tokens that a response used", async () => {
  const llm = startLlmServer();
  await using _ = { [Symbol.asyncDispose]: () => llm.close() };
  await using service = await startRateLimitService();
  await using gateway = await startTestGateway(
    {
      routes: [limitedRoute({ port: Number(new URL(llm.origin).port) }, {
        domain: "fleet",
        store: { service: { host: `127.0.0.1:${service.port}` } },
        descriptors: [byUser({ tokens: 1000 })],
      })],
    },
    {},
    [],
    { clock: new FakeClock() },
  );

  const { status } = await chat(gateway);
  // At once after the answer: what is not reported yet must not get lost.
  await gateway.gateway.stop(1000);
  await service.waitFor(2);

  assert.equal(status, 200);
  assert.deepEqual(
    service.received.map(({ descriptors }) => descriptors[0]?.hits_addend),
    [{ value: "0" }, { value: "9" }],
  );
});

Deno.test("a rate limit service behind TLS is verified like any backend", async () => {
  const authority = await createAuthority();
  const tls = await authority.issueServer(["limits.example"]);
  await using upstream = upstreamThatSaysOk();
  await using service = await startRateLimitService({ tls });
  const clock = new FakeClock();
  const start = (hostname: string) =>
    startTestGateway(
      {
        backends: [{
          name: "limits",
          static: { host: "127.0.0.1", port: service.port },
          tls: { hostname, caCertificateRefs: [{ inline: authority.cert }] },
        }],
        routes: [limitedRoute(upstream, {
          domain: "fleet",
          store: { service: { backendRef: { name: "limits" } } },
          descriptors: [byUser({ requests: 9 })],
        })],
      },
      {},
      [],
      { clock },
    );
  await using right = await start("limits.example");
  await using wrong = await start("other.example");

  assert.equal((await send(right)).status, 200);
  assert.equal((await send(wrong)).status, 503);
  assert.equal(service.received.length, 1);
});
