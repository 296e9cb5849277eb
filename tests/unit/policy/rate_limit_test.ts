import assert from "node:assert/strict";
import type { RateLimit } from "../../../src/api/rate_limit.ts";
import { textBody } from "../../../src/http/body.ts";
import type { Policy, PolicyContext } from "../../../src/policy/policy.ts";
import { inertServices } from "../../../src/policy/policy_services.ts";
import { createRateLimit } from "../../../src/policy/rate_limit.ts";
import { checkRateLimit } from "../../../src/policy/rate_limit_checks.ts";
import { Refusal } from "../../../src/policy/refusal.ts";
import type {
  DescriptorUse,
  GlobalDecision,
  GlobalLimiter,
} from "../../../src/ratelimit/global_limiter.ts";
import { LocalCounterStore } from "../../../src/ratelimit/local_counter_store.ts";
import { FakeClock } from "../../harness/fake_clock.ts";
import { context, headersOf, response, responseOf } from "./exchange.ts";

type Local = Partial<NonNullable<RateLimit["local"]>[number]>;
type Global = NonNullable<RateLimit["global"]>;

const route = "HTTPRoute/default/a";

/** A process with a clock of its own; `limiter` answers for every `global` block. */
class Process {
  readonly clock = new FakeClock();
  readonly counters = new LocalCounterStore(this.clock);
  limiter: GlobalLimiter | undefined;

  policy(...layers: readonly (readonly [scope: string, RateLimit])[]): Policy {
    const options = {
      listenerPort: 80,
      readFile: () => "",
      connectionOf: () => undefined,
      services: {
        ...inertServices(),
        clock: this.clock,
        counters: this.counters.lease(),
        globalLimiter: () => this.limiter,
      },
    };
    return createRateLimit(
      layers.map(([scope, config]) => ({ scope, config, options })),
    );
  }
}

function local(...entries: readonly Local[]): RateLimit {
  return {
    local: entries.map((entry) => ({
      unit: "Minutes",
      overshoot: "Forgive",
      ...entry,
    })),
  };
}

/** What a client sees of `x-ratelimit-*`, as `limit/remaining/reset`. */
function shown(headers: Readonly<Record<string, string>>): string {
  return ["limit", "remaining", "reset"].map((name) =>
    headers[`x-ratelimit-${name}`]
  ).join("/");
}

/** Sends a request; the answer of the upstream or of the policy as `status limit/remaining/reset`. */
async function send(
  policy: Policy,
  on: PolicyContext = context({}),
): Promise<string> {
  const verdict = responseOf(await policy.onRequest?.(on));
  const answer = verdict ?? response({ "X-RateLimit-Remaining": "upstream" });
  await policy.onResponse?.(on, answer);
  return `${answer.status} ${shown(headersOf(answer))}`;
}

function asUser(sub: string | undefined): PolicyContext {
  const on = context({});
  if (sub !== undefined) on.identity.jwt = { sub };
  return on;
}

Deno.test("rateLimit admits base and burst, then refuses until the reset, and says so", async () => {
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

Deno.test("rateLimit refuses in plain text with Retry-After and tells the log which limit it was", async () => {
  const process = new Process();
  const policy = process.policy([
    route,
    local({ requests: 1, key: "jwt.sub" }),
  ]);
  await send(policy, asUser("anna"));
  process.clock.advance(10);

  const verdict = await policy.onRequest?.(asUser("anna"));

  assert(verdict instanceof Refusal);
  assert.equal(verdict.reason, "rate_limit");
  assert.equal(
    verdict.message,
    'Limit "1 requests per minute, by jwt.sub" of HTTPRoute/default/a is used up',
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

Deno.test("rateLimit charges no entry when one of them refuses, in the limits of route and gateway alike", async () => {
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

Deno.test("rateLimit shows the entry with the least left, and the one that refused", async () => {
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

Deno.test("tokens are charged when usage is known, to the user who asked, also after a refusal", async () => {
  const process = new Process();
  const policy = process.policy(
    [route, local({ tokens: 100, key: "jwt.sub" }, { requests: 50 })],
  );
  const begin = async (sub: string) => {
    const uses: ((tokens: number) => void)[] = [];
    const on: PolicyContext = {
      ...asUser(sub),
      llm: {
        api: undefined,
        onUsage: (listener) =>
          uses.push((totalTokens) => listener({ totalTokens } as never)),
      },
    };
    return { shown: await send(policy, on), uses };
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
  assert.equal(process.counters.describe()[0]?.tokens, 1130);
  process.clock.advance(60_000);
  assert.equal((await begin("anna")).shown.slice(0, 3), "200");
});

Deno.test("Retry-After counts the windows that a carried debt takes", async () => {
  const process = new Process();
  const policy = process.policy(
    [route, local({ tokens: 100, overshoot: "Carry" })],
  );
  const on: PolicyContext = {
    ...context({}),
    llm: {
      api: undefined,
      onUsage: (listener) => listener({ totalTokens: 250 } as never),
    },
  };
  await send(policy, on);

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

Deno.test("rateLimit keeps budgets over a reload that does not change them", async () => {
  const process = new Process();
  await send(process.policy([route, local({ requests: 1 })]));

  const same = process.policy([route, local({ requests: 5 }, { requests: 1 })]);
  const raised = process.policy([route, local({ requests: 2 })]);

  assert.match(await send(same), /^429/);
  assert.match(await send(raised), /^200/);
});

/** A limiter that answers as told and remembers what it was asked. */
class FakeLimiter implements GlobalLimiter {
  readonly calls: string[] = [];
  decision: GlobalDecision | Promise<GlobalDecision> = {
    verdict: "admitted",
    readings: [],
  };

  admit(
    uses: readonly DescriptorUse[],
  ): GlobalDecision | Promise<GlobalDecision> {
    const entries = uses.map((use) =>
      use.entries.map((pair) => pair.join("="))
    );
    this.calls.push(`admit ${entries.join("; ")}`);
    return this.decision;
  }

  debit(uses: readonly DescriptorUse[], tokens: number): void {
    this.calls.push(`debit ${uses.length} ${tokens}`);
  }

  refund(): void {
    this.calls.push("refund");
  }
}

const reading = {
  unit: "requests",
  limit: 9,
  remaining: 0,
  resetMs: 1500,
  windowMs: 60_000,
} as const;

function shared(options: Partial<Global> = {}): RateLimit {
  return {
    ...local({ requests: 5 }),
    global: {
      domain: "d",
      store: "KV",
      failureMode: "Closed",
      descriptors: [{
        requests: 9,
        unit: "Minutes",
        entries: [{ key: "user", value: "jwt.sub" }],
      }],
      ...options,
    },
  };
}

function withLimiter(options: Partial<Global> = {}) {
  const process = new Process();
  const limiter = new FakeLimiter();
  process.limiter = limiter;
  const policy = process.policy([route, shared(options)]);
  const left = () => process.counters.describe()[0]?.remaining;
  return { limiter, policy, left };
}

Deno.test("global is asked after local, and its headers count when it has less left", async () => {
  const { limiter, policy, left } = withLimiter();
  limiter.decision = Promise.resolve({
    verdict: "admitted",
    readings: [{ ...reading, remaining: 2 }],
    requestHeaders: [["X-Plan", "gold"]],
    responseHeaders: [["X-Served-By", "limiter"]],
  });
  const on = asUser("anna");
  assert.equal(await policy.onRequest?.(on), undefined);
  const answer = response();
  await policy.onResponse?.(on, answer);

  assert.deepEqual(limiter.calls, ["admit user=anna"]);
  assert.equal(on.request.headers.get("x-plan"), "gold");
  assert.equal(shown(headersOf(answer)), "9/2/2");
  assert.equal(headersOf(answer)["x-served-by"], "limiter");
  assert.equal(left(), 4);
});

Deno.test("global gives local requests back when it refuses, and marks its 429", async () => {
  const { limiter, policy, left } = withLimiter();
  limiter.decision = {
    verdict: "refused",
    readings: [reading],
    refusedBy: reading,
    body: new TextEncoder().encode("no more"),
  };

  const verdict = responseOf(await policy.onRequest?.(asUser("anna")));

  assert(verdict !== undefined);
  assert.equal(verdict.status, 429);
  assert.equal(new TextDecoder().decode(await verdict.body?.read()), "no more");
  const headers = headersOf(verdict);
  assert.equal(shown(headers), "9/0/2");
  assert.equal(headers["retry-after"], "2");
  assert.equal(headers["x-ext-ratelimited"], "true");
  assert.equal(left(), 5);
});

Deno.test("global is not asked for what a local limit refuses", async () => {
  const { limiter, policy } = withLimiter();
  for (let i = 0; i < 6; i++) await send(policy, asUser("anna"));
  assert.equal(limiter.calls.length, 5);
});

const failing: GlobalDecision = { verdict: "failed", error: new Error("down") };

Deno.test("global refuses when it fails and is Closed, and charges nothing", async () => {
  const { limiter, policy, left } = withLimiter();
  limiter.decision = Promise.resolve(failing);

  const verdict = await policy.onRequest?.(asUser("anna"));

  assert(verdict instanceof Refusal);
  assert.equal(verdict.response.status, 500);
  assert.equal(verdict.message, "The limiter failed: down");
  assert.equal(left(), 5);
});

Deno.test("global lets pass when it fails and is Open, and local limits hold", async () => {
  const { limiter, policy } = withLimiter({ failureMode: "Open" });
  limiter.decision = Promise.resolve(failing);

  const statuses = [];
  for (let i = 0; i < 6; i++) {
    statuses.push((await send(policy, asUser("anna"))).slice(0, 3));
  }
  assert.deepEqual(statuses, ["200", "200", "200", "200", "200", "429"]);
});

Deno.test("a descriptor without a value refuses when Closed and has a bucket when Open", async () => {
  const closed = withLimiter();
  assert.match(await send(closed.policy), /^500/);
  assert.deepEqual(closed.limiter.calls, []);
  assert.equal(closed.left(), 5);

  const open = withLimiter({ failureMode: "Open" });
  assert.match(await send(open.policy), /^200/);
  assert.deepEqual(open.limiter.calls, ["admit user=unknown"]);
});

Deno.test("tokens of global budgets are charged when usage is known", async () => {
  const { limiter, policy } = withLimiter({
    descriptors: [{
      tokens: 100,
      unit: "Minutes",
      entries: [{ key: "user", value: "jwt.sub" }],
    }],
  });
  await policy.onRequest?.({
    ...asUser("anna"),
    llm: {
      api: undefined,
      onUsage: (listener) => listener({ totalTokens: 42 } as never),
    },
  });
  assert.deepEqual(limiter.calls, ["admit user=anna", "debit 1 42"]);
});

Deno.test("without a limiter a global block lets nothing pass", () => {
  const policy = new Process().policy([route, shared()]);
  assert.throws(() => policy.onRequest?.(context({})), {
    code: "invalid_policy",
  });
});

Deno.test("checkRateLimit points at what is wrong with an expression", () => {
  const config = local(
    { requests: 1, key: "jtw.sub" },
    { requests: 1, key: "jwt.sub", when: "request.method ==" },
    { requests: 1, key: "backend.name" },
  );
  const problems = checkRateLimit(config).map(({ path, message, suggestion }) =>
    [path.join("."), message, suggestion].join(" | ")
  );
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
