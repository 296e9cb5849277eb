import assert from "node:assert/strict";
import type { Use } from "../../../../src/ratelimit/budget/budget.ts";
import type { RateLimit } from "../../../../src/policy/rate_limit/rate_limit_schema.ts";
import { Rejection } from "../../../../src/policy/contract/rejection.ts";
import type {
  DescriptorReading,
  DescriptorUse,
  GlobalLimiter,
  LimiterDecision,
} from "../../../../src/ratelimit/limiter/global_limiter.ts";
import { context, headersOf, response, responseOf } from "../exchange.ts";
import {
  asUser,
  local,
  Process,
  route,
  send,
  shown,
  use,
} from "../rate_limits.ts";

type Global = NonNullable<RateLimit["global"]>;

/** A limiter that answers as told and remembers what it was asked. */
class FakeLimiter implements GlobalLimiter {
  readonly calls: string[] = [];
  decision: LimiterDecision | Promise<LimiterDecision> = {
    verdict: "admitted",
    readings: [],
  };

  admit(
    uses: readonly DescriptorUse[],
  ): LimiterDecision | Promise<LimiterDecision> {
    const entries = uses.map((use) =>
      use.entries.map((pair) => pair.join("="))
    );
    this.calls.push(`admit ${entries.join("; ")}`);
    return this.decision;
  }

  debit(uses: readonly DescriptorUse[], { totalTokens }: Use): void {
    this.calls.push(`debit ${uses.length} ${totalTokens}`);
  }

  refund(): void {
    this.calls.push("refund");
  }
}

const reading: DescriptorReading = {
  index: 0,
  unit: "requests",
  limit: 9,
  remaining: 0,
  resetMs: 1500,
  windowMs: 60_000,
};

function global(options: Partial<Global> = {}): RateLimit {
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
  const policy = process.policy([route, global(options)]);
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

Deno.test("global gives local requests back when it rejects, and marks its 429", async () => {
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

async function rejectionBy(
  refusedBy: DescriptorReading | undefined,
  options: Partial<Global> = {},
): Promise<Rejection> {
  const { limiter, policy } = withLimiter(options);
  limiter.decision = { verdict: "refused", readings: [], refusedBy };
  const verdict = await policy.onRequest?.(asUser("anna"));
  assert(verdict instanceof Rejection);
  return verdict;
}

Deno.test("global reports which limit rejected, in log and trace, also of several with the same numbers", async () => {
  const descriptors: Global["descriptors"] = ["user", "team", "team"].map(
    (key) => ({
      requests: 9,
      unit: "Minutes",
      entries: [{ key, value: "jwt.sub" }],
    }),
  );
  const names = [];
  for (const index of descriptors.keys()) {
    const { message, verdict } = await rejectionBy({ ...reading, index }, {
      descriptors,
    });
    assert(verdict?.type === "rateLimit");
    const [rejecting] = verdict.entries;
    assert.equal(rejecting?.verdict, "deny");
    assert.equal(
      message,
      `Limit "${rejecting.name}" of domain "d" is used up`,
    );
    names.push(rejecting.name);
  }

  assert.deepEqual(names, [
    "9 requests per minute, by user",
    "9 requests per minute, by team",
    "9 requests per minute, by team (2)",
  ]);
  assert.equal(
    (await rejectionBy(undefined)).message,
    'A limit of domain "d" is used up',
  );
});

Deno.test("global is not requested what a local limit rejects", async () => {
  const { limiter, policy } = withLimiter();
  for (let i = 0; i < 6; i++) await send(policy, asUser("anna"));
  assert.equal(limiter.calls.length, 5);
});

const failing: LimiterDecision = {
  verdict: "failed",
  error: new Error("down"),
};

Deno.test("global rejects when it fails and is Closed, and charges nothing", async () => {
  const { limiter, policy, left } = withLimiter();
  limiter.decision = Promise.resolve(failing);

  const verdict = await policy.onRequest?.(asUser("anna"));

  assert(verdict instanceof Rejection);
  assert.equal(verdict.response.status, 503);
  assert.equal(headersOf(verdict.response)["retry-after"], "1");
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

Deno.test("a descriptor without a value rejects when Closed and has a bucket when Open", async () => {
  const closed = withLimiter();
  assert.match(await send(closed.policy), /^503/);
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
  const on = asUser("anna");
  await policy.onRequest?.(on);
  use(on, 42);
  assert.deepEqual(limiter.calls, ["admit user=anna", "debit 1 42"]);
});

Deno.test("without a limiter a global block lets nothing pass", () => {
  const policy = new Process().policy([route, global()]);
  assert.throws(() => policy.onRequest?.(context({})), {
    code: "invalid_policy",
  });
});
