import assert from "node:assert/strict";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import {
  byUser,
  limitedRoute,
  send,
  textOf,
} from "../../harness/gateway/limited_gateway.ts";
import {
  type RateLimitServiceOptions,
  startRateLimitService,
} from "../../harness/servers/rate_limit_service.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

type Reply = NonNullable<RateLimitServiceOptions["reply"]>;

/** A gateway that asks a service about every request, for each `failureMode`. */
async function openServiceLimits(reply: Reply) {
  await using opening = new AsyncDisposableStack();
  const requests: string[] = [];
  const upstream = opening.use(
    new RawUpstream(async (connection) => {
      for (;;) {
        requests.push(await connection.request());
        await connection.send(answer("ok", "x-ratelimit-limit: upstream"));
      }
    }),
  );
  const service = opening.use(await startRateLimitService({ reply }));
  const store = { service: { host: `127.0.0.1:${service.port}` } };
  const descriptors = [byUser({ requests: 10, unit: "Minutes" })];
  // A busy machine must not make requests fail that wait for the service.
  const clock = new FakeClock();
  const start = (failureMode: string) =>
    startTestGateway(
      {
        routes: [
          limitedRoute(upstream, {
            domain: "shop",
            store,
            failureMode,
            descriptors,
          }),
        ],
      },
      {},
      [],
      { clock },
    );
  const closed = opening.use(await start("Closed"));
  const open = opening.use(await start("Open"));
  const all = opening.move();
  return {
    clock,
    closed,
    open,
    service,
    requests,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** The status of the only descriptor. */
function status(code: string, remaining: number) {
  return {
    code,
    current_limit: { requests_per_unit: 10, unit: "MINUTE" },
    limit_remaining: remaining,
    duration_until_reset: { seconds: 30 },
  };
}

Deno.test("a service that admits gets the user, and its headers reach upstream and client", async () => {
  await using limits = await openServiceLimits(() => ({
    overall_code: "OK",
    statuses: [status("OK", 7)],
    request_headers_to_add: [{ key: "X-Plan", value: "gold" }],
    response_headers_to_add: [
      { key: "X-RateLimit-Limit", value: "10, 10;w=60" },
      { key: "link", value: "<a>" },
      { key: "link", value: "<b>" },
    ],
  }));

  const { status: code, headers } = await send(limits.closed);

  assert.equal(code, 200);
  assert.equal(headers["x-ratelimit-limit"], "10, 10;w=60");
  assert.equal(headers["x-ratelimit-remaining"], "7");
  assert.equal(headers["x-ratelimit-reset"], "30");
  assert.equal(headers["link"], "<a>, <b>");
  assert.equal(headers["x-ext-ratelimited"], undefined);
  assert.match(limits.requests[0] ?? "", /^x-plan: gold\r$/im);
  assert.deepEqual(limits.service.received.at(-1), {
    domain: "shop",
    hits_addend: 0,
    descriptors: [{
      entries: [{ key: "user", value: "anna" }],
      limit: { requests_per_unit: 10, unit: "MINUTE" },
      hits_addend: { value: "1" },
    }],
  });
});

Deno.test("a service that rejects a request sets headers and body of the 429, which is not forwarded", async () => {
  let body = '{"error":"slow down"}';
  await using limits = await openServiceLimits(() => ({
    overall_code: "OVER_LIMIT",
    statuses: [status("OVER_LIMIT", 0)],
    ...(body === "" ? {} : {
      raw_body: new TextEncoder().encode(body),
      response_headers_to_add: [
        { key: "content-type", value: "application/json" },
        { key: "x-ext-ratelimited", value: "shop" },
      ],
    }),
  }));

  const own = await send(limits.closed);
  body = "";
  const usual = await send(limits.closed);

  for (const { status, headers } of [own, usual]) {
    assert.equal(status, 429);
    assert.equal(headers["x-ratelimit-limit"], "10");
    assert.equal(headers["x-ratelimit-remaining"], "0");
    assert.equal(headers["x-ratelimit-reset"], "30");
    assert.equal(headers["retry-after"], "30");
  }
  assert.equal(textOf(own), '{"error":"slow down"}');
  assert.equal(own.headers["content-type"], "application/json");
  assert.equal(own.headers["x-ext-ratelimited"], "shop");
  assert.equal(textOf(usual), "rate limit exceeded");
  assert.equal(usual.headers["content-type"], "text/plain");
  assert.equal(usual.headers["x-ext-ratelimited"], "true");
  assert.deepEqual(limits.requests, []);
  assert.match(
    limits.closed.accessLog.at(-1) ?? "",
    /error="Limit \\"10 requests per minute, by user\\" of domain \\"shop\\" is used up"/,
  );
});

/** May stand in place of another error on a busy machine. */
const failures: readonly {
  readonly what: string;
  readonly reply: Reply;
  readonly isSilent?: boolean;
  readonly error: string;
}[] = [
  {
    what: "neither admits nor rejects",
    reply: () => ({ overall_code: "UNKNOWN" }),
    error: "expected the code OK or OVER_LIMIT, got 0",
  },
  {
    what: "does not answer in time",
    reply: () => new Promise(() => {}),
    isSilent: true,
    error: "no response within 100 ms",
  },
  {
    what: "fails",
    reply: () => Promise.reject(new Error("out of order")),
    error: "out of order",
  },
];
for (const { what, reply, isSilent = false, error } of failures) {
  Deno.test(`while a service ${what}, failureMode decides, and log and metrics report it`, async () => {
    await using limits = await openServiceLimits(reply);

    const { clock, service } = limits;
    const sendInVain = async (gateway: TestGateway) => {
      const answered = send(gateway);
      await service.waitFor(service.received.length + 1);
      if (isSilent) clock.advance(100);
      return await answered;
    };
    const refused = await sendInVain(limits.closed);
    const passed = await sendInVain(limits.open);

    assert.equal(refused.status, 503);
    assert.equal(refused.headers["retry-after"], "1");
    assert.equal(refused.headers["x-ext-ratelimited"], undefined);
    assert.equal(textOf(refused), "rate limit failed");
    assert.equal(passed.status, 200);
    assert.equal(limits.requests.length, 1);
    for (const { log, gateway } of [limits.closed, limits.open]) {
      const line = log.find((each) =>
        /Global limits are not available/.test(each)
      );
      assert.match(line ?? "", new RegExp(error));
      assert.match(
        await gateway.dataPlane.call("collectMetrics"),
        /shared_requests_total\{.*result="failed"\} 1\n/,
      );
    }
  });
}
