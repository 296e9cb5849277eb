import { admissionSlot } from "../../../../src/policy/rate_limit/rate_limit_admission.ts";
import { tokensUsed } from "../../../harness/login/tokens_used.ts";
import assert from "node:assert/strict";
import { textBody } from "../../../../src/http/body.ts";
import { usageListeners } from "../../../../src/policy/contract/request_listeners.ts";
import { checkRateLimit } from "../../../../src/policy/rate_limit/rate_limit_checks.ts";
import { Rejection } from "../../../../src/policy/contract/rejection.ts";
import { context, headersOf, response, responseOf } from "../exchange.ts";
import { asUser, local, Process, route, send, use } from "../rate_limits.ts";

Deno.test("rateLimit admits base and burst, then rejects until the reset, and says so", async () => {
  const process = new Process();
  const policy = process.policy([route, local({ requests: 2, burst: 1 })]);

  assert.equal(await send(policy), "200 3/2/60");
  process.clock.advance(500);
  assert.equal(await send(policy), "200 3/1/60");
  process.clock.advance(29_500);
  assert.equal(await send(policy), "200 3/0/30");
  assert.equal(await send(policy), "429 3/0/30");
  process.clock.advance(29_999);
  assert.equal(await send(policy), "429 3/0/1");
  process.clock.advance(1);
  assert.equal(await send(policy), "200 3/1/60");
});

Deno.test("rateLimit rejects in plain text with Retry-After and tells the log which limit it was", async () => {
  const process = new Process();
  const policy = process.policy([
    route,
    local({ requests: 1, key: "jwt.sub" }),
  ]);
  await send(policy, asUser("anna"));
  process.clock.advance(10);

  const verdict = await policy.onRequest?.(asUser("anna"));

  assert(verdict instanceof Rejection);
  assert.equal(verdict.reason, "rate_limit");
  assert.equal(
    verdict.message,
    'Limit "1 request per minute, by jwt.sub" of HTTPRoute/default/a is used up',
  );
  const { body } = verdict.response;
  assert.equal(
    new TextDecoder().decode(await body?.read()),
    "rate limit exceeded",
  );
  assert.deepEqual(headersOf(verdict.response), {
    "content-type": "text/plain",
    "x-ratelimit-limit": "1",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": "60",
    "retry-after": "60",
  });
});

Deno.test("rateLimit charges no entry when one of them rejects, in the limits of route and gateway alike", async () => {
  const process = new Process();
  const gateway = "Gateway/default/g";
  const policy = process.policy(
    [gateway, local({ requests: 10, unit: "Hours" })],
    [route, local({ requests: 5, unit: "Hours" }, { requests: 1 })],
  );

  const statuses = [];
  for (let i = 0; i < 20; i++) statuses.push(await send(policy));

  assert.deepEqual(statuses.filter((status) => status.startsWith("200")), [
    "200 1/0/60",
  ]);
  const left = process.counters.describe().map(({ scope, remaining }) =>
    `${scope} ${remaining}`
  );
  assert.deepEqual(left, [`${gateway} 9`, `${route} 4`, `${route} 0`]);
});

Deno.test("rateLimit shares what is attached to a gateway among routes, and nothing else", async () => {
  const process = new Process();
  const limits = local({ requests: 1 });
  const one = process.policy(["Gateway/default/g", limits]);
  const other = process.policy(["Gateway/default/g", limits]);
  const elsewhere = process.policy([route, limits]);

  assert.match(await send(one), /^200/);
  assert.match(await send(other), /^429/);
  assert.match(await send(elsewhere), /^200/);
});

Deno.test("rateLimit keeps equal entries of one scope apart", async () => {
  const process = new Process();
  const policy = process.policy(
    [route, local({ requests: 2 }, { requests: 2 })],
  );

  assert.equal(await send(policy), "200 2/1/60");
  assert.deepEqual(process.counters.describe().map(({ name }) => name), [
    "2 requests per minute",
    "2 requests per minute (2)",
  ]);
});

Deno.test("rateLimit shows the entry with the least left, and the one that rejected", async () => {
  const process = new Process();
  const policy = process.policy([
    route,
    local({ requests: 3, unit: "Hours" }, { requests: 1, unit: "Seconds" }),
  ]);

  assert.equal(await send(policy), "200 1/0/1");
  assert.equal(await send(policy), "429 1/0/1");
  process.clock.advance(1000);
  await send(policy);
  process.clock.advance(1000);
  // Both have nothing left: the one that lasts longer is shown.
  assert.equal(await send(policy), "200 3/0/3598");
  process.clock.advance(1000);
  assert.equal(await send(policy), "429 3/0/3597");
});

Deno.test("of several entries that are used up the one that resets last rejects, so that Retry-After is true", async () => {
  for (const units of [["Seconds", "Hours"], ["Hours", "Seconds"]] as const) {
    const process = new Process();
    const policy = process.policy([
      route,
      local(...units.map((unit) => ({ requests: 1, unit }))),
    ]);
    await send(policy);
    const refused = context({});

    const answer = responseOf(await policy.onRequest?.(refused));

    assert(answer !== undefined);
    assert.equal(headersOf(answer)["retry-after"], "3600");
    process.clock.advance(3_600_000);
    assert.match(await send(policy), /^200/);
  }
});

Deno.test("of several used up budgets of tokens the one with the longest debt rejects", async () => {
  const process = new Process();
  const tokens = { tokens: 10, unit: "Seconds", overshoot: "Carry" } as const;
  const policy = process.policy(
    [route, local({ requests: 1, unit: "Minutes" }, tokens)],
  );
  const first = context({});
  await send(policy, first);
  first.slots.get(admissionSlot)?.settle(tokensUsed(10_000));

  const answer = responseOf(await policy.onRequest?.(context({})));

  assert(answer !== undefined);
  assert.equal(headersOf(answer)["retry-after"], "1000");
});

Deno.test("key gives every user a budget, and those without a value share one", async () => {
  const process = new Process();
  const policy = process.policy([
    route,
    local({ requests: 1, key: "jwt.sub" }),
  ]);
  const statusFor = async (sub?: string) =>
    (await send(policy, asUser(sub))).slice(0, 3);

  assert.equal(await statusFor("anna"), "200");
  assert.equal(await statusFor("otto"), "200");
  assert.equal(await statusFor("anna"), "429");
  assert.equal(await statusFor(), "200");
  assert.equal(await statusFor(), "429");
  assert.equal(await statusFor("otto"), "429");
});

const keys: readonly [key: string, same: boolean][] = [
  ["request.headers['x-team']", false],
  ["size(request.headers['x-team'])", true],
  ["request.headers['x-team'].startsWith('b')", false],
  ["[request.headers['x-team']]", true],
  ["request.headers['x-none']", true],
  ["source.address", true],
];
for (const [key, same] of keys) {
  Deno.test(`key ${key} counts blue and grey ${same ? "together" : "apart"}`, async () => {
    const policy = new Process().policy([route, local({ requests: 1, key })]);
    await send(policy, context({ headers: { "x-team": "blue" } }));
    const grey = context({ headers: { "x-team": "grey" } });
    assert.match(await send(policy, grey), same ? /^429/ : /^200/);
  });
}

Deno.test("key can be the address that a load balancer saw, whatever the client wrote before it", async () => {
  const field = "request.headers['x-forwarded-for']";
  const key = `${field}.substring(${field}.lastIndexOf(',') + 1).trim()`;
  const policy = new Process().policy([route, local({ requests: 1, key })]);
  const statusFor = async (addresses: string) => {
    const on = context({ headers: { "x-forwarded-for": addresses } });
    return (await send(policy, on)).slice(0, 3);
  };

  assert.equal(await statusFor("192.0.2.1"), "200");
  assert.equal(await statusFor("192.0.2.2"), "200");
  assert.equal(await statusFor("198.51.100.7, 192.0.2.1"), "429");
  assert.equal(await statusFor("198.51.100.8,192.0.2.2"), "429");
});

Deno.test("key can name the tool that is called, read from the body", async () => {
  const policy = new Process().policy(
    [route, local({ requests: 1, key: "mcp.tool.name" })],
  );
  const call = async (name: string) => {
    const on = context({ method: "POST" });
    const params = { name };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    on.request.body = textBody(JSON.stringify(message));
    return (await send(policy, on)).slice(0, 3);
  };

  assert.equal(await call("search"), "200");
  assert.equal(await call("fetch"), "200");
  assert.equal(await call("search"), "429");
});

const conditions: readonly [when: string, applies: boolean][] = [
  ["request.method == 'GET'", true],
  ["request.method == 'POST'", false],
  ["jwt.tier == 'free'", true],
  ["request.method", true],
  ["has(jwt.tier)", false],
];
for (const [when, applies] of conditions) {
  Deno.test(`when ${when} ${applies ? "applies" : "does not apply"}`, async () => {
    const policy = new Process().policy([route, local({ requests: 1, when })]);
    const first = await send(policy);
    const second = await send(policy);
    assert.deepEqual(
      [first, second],
      applies
        ? ["200 1/0/60", "429 1/0/60"]
        : ["200 /upstream/", "200 /upstream/"],
    );
  });
}

Deno.test("tokens are charged when usage is known, to the user who asked, also after a rejection", async () => {
  const process = new Process();
  const policy = process.policy(
    [route, local({ tokens: 100, key: "jwt.sub" }, { requests: 50 })],
  );
  const begin = async (sub: string) => {
    const on = asUser(sub);
    const shown = await send(policy, on);
    const { listeners = [] } = on.slots.get(usageListeners) ?? {};
    const uses = listeners.map((listener) => (totalTokens: number) =>
      listener.settle(
        { totalTokens, isPriced: true } as never,
      )
    );
    return { shown, uses };
  };

  const first = await begin("anna");
  const second = await begin("anna");
  for (const use of first.uses) use(130);
  const third = await begin("anna");
  for (const use of second.uses) use(1000);

  assert.equal(first.shown.slice(0, 3), "200");
  assert.equal(second.shown.slice(0, 3), "200");
  assert.equal(third.shown, "429 100/0/60");
  assert.deepEqual(third.uses, []);
  assert.equal((await begin("otto")).shown.slice(0, 3), "200");
  assert.equal(process.counters.describe()[0]?.charged, 1130);
  process.clock.advance(60_000);
  assert.equal((await begin("anna")).shown.slice(0, 3), "200");
});

Deno.test("Retry-After counts the windows that a carried debt takes", async () => {
  const process = new Process();
  const policy = process.policy(
    [route, local({ tokens: 100, overshoot: "Carry" })],
  );
  const on = context({});
  await send(policy, on);
  use(on, 250);

  const verdict = responseOf(await policy.onRequest?.(context({})));

  const headers = headersOf(verdict ?? response());
  assert.equal(headers["x-ratelimit-reset"], "60");
  assert.equal(headers["retry-after"], "120");
});

Deno.test("headers Standard adds the fields of the IETF draft for every entry", async () => {
  const process = new Process();
  const policy = process.policy([route, {
    ...local(
      { requests: 2, burst: 1 },
      { tokens: 1000, unit: "Hours" },
      { requests: 3, key: "jwt.sub" },
    ),
    headers: "Standard",
  }]);
  const on = context({});
  await policy.onRequest?.(on);
  const answer = response({ RateLimit: '"upstream";r=1' });
  await policy.onResponse?.(on, answer);

  const headers = headersOf(answer);
  assert.equal(
    headers["ratelimit-policy"],
    '"3-requests-per-60s";q=3;w=60, "1000-tokens-per-3600s";q=1000;w=3600, "3-requests-per-60s-2";q=3;w=60',
  );
  assert.equal(
    headers["ratelimit"],
    '"3-requests-per-60s";r=2;t=60, "1000-tokens-per-3600s";r=1000;t=3600, "3-requests-per-60s-2";r=2;t=60',
  );
  await send(policy);
  await send(policy);
  const refused = responseOf(await policy.onRequest?.(context({})));
  assert.equal(
    headersOf(refused ?? response())["ratelimit"],
    '"3-requests-per-60s";r=0;t=60',
  );
});

Deno.test("rateLimit keeps budgets over a reload that does not change what they count", async () => {
  const process = new Process();
  await send(process.policy([route, local({ requests: 1 })]));

  const same = process.policy([
    route,
    local({ requests: 1 }, { requests: 5, unit: "Hours" }),
  ]);
  const other = process.policy([route, local({ requests: 2, unit: "Hours" })]);

  assert.match(await send(same), /^429/);
  assert.match(await send(other), /^200/);
});

Deno.test("checkRateLimit points at what is wrong with an expression", () => {
  const config = local(
    { requests: 1, key: "jtw.sub" },
    { requests: 1, key: "jwt.sub", when: "request.method ==" },
    { requests: 1, key: "backend.name" },
  );
  const problems = checkRateLimit(config, { hide: (text) => text }).map((
    { path, message, suggestion },
  ) => [path.join("."), message, suggestion].join(" | "));
  assert.equal(problems.length, 3);
  assert.match(
    problems[0] ?? "",
    /^local\.0\.key \| .*"jtw" at column 1 \| jwt$/,
  );
  assert.match(
    problems[1] ?? "",
    /^local\.1\.when \| Cannot use the expression/,
  );
  assert.match(problems[2] ?? "", /^local\.2\.key \| Cannot use "backend"/);
});
