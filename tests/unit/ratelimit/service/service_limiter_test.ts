import assert from "node:assert/strict";
import { tokensUsed } from "../../../harness/login/tokens_used.ts";
import {
  type Reply,
  startRateLimitService,
} from "../../../harness/servers/rate_limit_service.ts";
import { createTestLimiter, useOf } from "../service_limiters.ts";

const minute = { requests_per_unit: 100, unit: "MINUTE" };

async function admitWith(reply: Reply, uses = [useOf("requests")]) {
  await using service = await startRateLimitService({ reply: () => reply });
  await using test = createTestLimiter(service.port);
  return await test.limiter.admit(uses);
}

Deno.test("ServiceLimiter checks all budgets in one call and charges only request budgets", async () => {
  await using service = await startRateLimitService();
  await using test = createTestLimiter(service.port);

  await test.limiter.admit([
    useOf("requests", { base: 5, windowMs: 1000 }),
    useOf("tokens", { base: 1_000_000, windowMs: 3_600_000 }),
  ]);

  const entries = [{ key: "user", value: "anna" }];
  assert.deepEqual(service.received, [{
    domain: "shop",
    hits_addend: 0,
    descriptors: [
      {
        entries,
        limit: { requests_per_unit: 5, unit: "SECOND" },
        hits_addend: { value: "1" },
      },
      {
        entries,
        limit: { requests_per_unit: 1_000_000, unit: "HOUR" },
        hits_addend: { value: "0" },
      },
    ],
  }]);
});

Deno.test("ServiceLimiter reports tokens only to token budgets", async () => {
  await using service = await startRateLimitService();
  await using test = createTestLimiter(service.port);

  test.limiter.debit([useOf("requests"), useOf("tokens")], tokensUsed(1234));
  await service.waitFor(1);
  await test.limiter.close();

  assert.deepEqual(service.received, [{
    domain: "shop",
    hits_addend: 1234,
    descriptors: [{
      entries: [{ key: "user", value: "anna" }],
      limit: minute,
      hits_addend: { value: "1234" },
    }],
  }]);
  assert.equal(test.limiter.describe().reportedTokens, 1234);
});

Deno.test("ServiceLimiter admits without a call when there are no budgets", () => {
  const { limiter } = createTestLimiter(1);

  assert.deepEqual(limiter.admit([]), { verdict: "admitted", readings: [] });
  assert.equal(limiter.describe().calls, 0);
});

Deno.test("ServiceLimiter forwards readings and headers when the service admits", async () => {
  const decision = await admitWith({
    overall_code: "OK",
    statuses: [
      {
        code: "OK",
        current_limit: minute,
        limit_remaining: 7,
        duration_until_reset: { seconds: 12, nanos: 1 },
      },
    ],
    request_headers_to_add: [{ key: "x-tier", value: "gold" }],
    response_headers_to_add: [
      { key: "x-a", value: "text", raw_value: Buffer.from("ignored") },
      { key: "x-b", raw_value: Buffer.from([0x72, 0xe9]) },
    ],
  }, [{ ...useOf("tokens"), index: 4 }, useOf("requests")]);

  assert.deepEqual(decision, {
    verdict: "admitted",
    readings: [{
      index: 4,
      unit: "tokens",
      limit: 100,
      remaining: 7,
      resetMs: 12_001,
      windowMs: 60_000,
    }],
    requestHeaders: [["x-tier", "gold"]],
    responseHeaders: [["x-a", "text"], ["x-b", "r\u00e9"]],
  });
});

Deno.test("ServiceLimiter rejects with body and headers of the service and returns the longest wait", async () => {
  const over = (seconds: number) => ({
    code: "OVER_LIMIT",
    current_limit: minute,
    duration_until_reset: { seconds },
  });

  const decision = await admitWith({
    overall_code: "OVER_LIMIT",
    statuses: [
      over(3),
      over(50),
      { code: "OK", current_limit: minute, limit_remaining: 9 },
    ],
    response_headers_to_add: [{ key: "x-ext-ratelimited", value: "true" }],
    raw_body: Buffer.from("slow down"),
  }, [
    useOf("requests"),
    { ...useOf("tokens"), index: 1 },
    { ...useOf("requests"), index: 2 },
  ]);

  assert(decision.verdict === "refused");
  assert.deepEqual(decision.refusedBy, {
    index: 1,
    unit: "tokens",
    limit: 100,
    remaining: 0,
    resetMs: 50_000,
    windowMs: 60_000,
  });
  assert.deepEqual(
    decision.readings.map(({ resetMs }) => resetMs),
    [3000, 50_000, 60_000],
  );
  assert.deepEqual(decision.responseHeaders, [["x-ext-ratelimited", "true"]]);
  assert.equal(new TextDecoder().decode(decision.body), "slow down");
});

Deno.test("ServiceLimiter omits the exhausted budget when the service does not report it", async () => {
  const decision = await admitWith({ overall_code: "OVER_LIMIT" });

  assert(decision.verdict === "refused");
  assert.equal(decision.refusedBy, undefined);
  assert.equal(decision.body?.length, 0);
});

for (
  const [key, value] of [
    ["Content-Length", "0"],
    ["transfer-encoding", "chunked"],
    ["Connection", "close"],
    ["host", "evil.example"],
    [":status", "200"],
    ["", "nameless"],
    ["x space", "1"],
    ["x-split", "a\r\nset-cookie: b=c"],
    ["x-zero", "\0"],
  ] as const
) {
  Deno.test(`ServiceLimiter does not forward the header ${JSON.stringify(key)}`, async () => {
    const headers = [{ key, value }, { key: "x-ok", value: "yes" }];

    const decision = await admitWith({
      overall_code: "OK",
      request_headers_to_add: headers,
      response_headers_to_add: headers,
    });

    assert(decision.verdict === "admitted");
    assert.deepEqual(decision.requestHeaders, [["x-ok", "yes"]]);
    assert.deepEqual(decision.responseHeaders, [["x-ok", "yes"]]);
  });
}

Deno.test("ServiceLimiter forwards the bytes of a header unchanged", async () => {
  const header = { key: "x-price", value: "5 €" };

  const decision = await admitWith({
    overall_code: "OK",
    response_headers_to_add: [header],
  });

  assert(decision.verdict === "admitted");
  assert.deepEqual(decision.responseHeaders, [["x-price", "5 \xe2\x82\xac"]]);
});

for (
  const { name, reply, message } of [
    {
      name: "neither admits nor rejects",
      reply: { overall_code: "UNKNOWN" },
      message: /expected the code OK or OVER_LIMIT, got 0/,
    },
    {
      name: "answers with nothing",
      reply: new Uint8Array(),
      message: /expected the code OK or OVER_LIMIT, got 0/,
    },
    {
      name: "answers with no message",
      reply: new Uint8Array([0x12, 0x7f, 0x01]),
      message: /premature EOF/,
    },
    {
      name: "answers with too much",
      reply: new Uint8Array(300_000),
      message: /the response exceeds 262144 bytes/,
    },
    {
      name: "answers with too many statuses",
      reply: new Uint8Array(300).map((_, i) => i % 2 === 0 ? 0x12 : 0),
      message: /expected at most 128 items/,
    },
  ]
) {
  Deno.test(`ServiceLimiter fails when the service ${name}`, async () => {
    const decision = await admitWith(reply);

    assert(decision.verdict === "failed" && decision.error instanceof Error);
    assert.match(
      decision.error.message,
      /^Call to the rate limit service "127\.0\.0\.1:\d+" failed$/,
    );
    assert.match(String(decision.error.cause), message);
  });
}

Deno.test("ServiceLimiter fails when the service reports an error", async () => {
  await using service = await startRateLimitService({
    reply: () => Promise.reject(new Error("no Redis")),
  });
  await using test = createTestLimiter(service.port);

  const decision = await test.limiter.admit([useOf("requests")]);

  assert(decision.verdict === "failed" && decision.error instanceof Error);
  assert.match(String(decision.error.cause), /gRPC status 2: .*no Redis/);
});

Deno.test("a descriptor that the service does not know is an error, counted and named in the log once", async () => {
  const statuses = [{ code: "OK", current_limit: minute }, { code: "OK" }];
  await using service = await startRateLimitService({
    reply: () => ({ overall_code: "OK", statuses }),
  });
  await using test = createTestLimiter(service.port);
  const unknown = { ...useOf("requests"), entries: [["plan", "x"]] as const };

  for (let i = 0; i < 2; i++) {
    const decision = await test.limiter.admit([useOf("requests"), unknown]);
    assert(decision.verdict === "failed");
    assert.match(
      String(decision.error),
      /has no limit for the keys "plan" of domain "shop"/,
    );
  }

  assert.equal(test.limiter.describe().unknown, 2);
  const warnings = test.logLines.filter((line) => /no limit/.test(line));
  assert.equal(warnings.length, 1);
});

Deno.test("ServiceLimiter describes its address and counts", async () => {
  const replies: Reply[] = [
    { overall_code: "OK" },
    { overall_code: "OVER_LIMIT" },
    {},
  ];
  await using service = await startRateLimitService({
    reply: () => replies.shift() ?? {},
  });
  await using test = createTestLimiter(service.port);
  assert.equal(test.limiter.describe().connection, "idle");

  for (let i = 0; i < 3; i++) await test.limiter.admit([useOf("requests")]);

  assert.deepEqual(test.limiter.describe(), {
    address: `127.0.0.1:${service.port}`,
    domain: "shop",
    connection: "ready",
    calls: 3,
    failures: 1,
    unknown: 0,
    reportedTokens: 0,
    droppedReports: 0,
    droppedTokens: 0,
    pendingReports: 0,
  });
});

Deno.test("ServiceLimiter counts and logs reports that the service did not accept before the close", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const test = createTestLimiter(port);
  test.limiter.debit([useOf("tokens")], tokensUsed(40));
  test.limiter.debit([useOf("tokens")], tokensUsed(2));

  const closing = test.limiter.close();
  test.clock.advance(1000);
  await closing;

  const { droppedReports, droppedTokens, connection } = test.limiter.describe();
  assert.deepEqual(
    { droppedReports, droppedTokens, connection },
    { droppedReports: 2, droppedTokens: 42, connection: "closed" },
  );
  assert.match(test.logLines.join(""), /Dropped reports of used tokens/);
});
