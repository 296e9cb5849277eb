import assert from "node:assert/strict";
import { tokensUsed } from "../../../harness/login/tokens_used.ts";
import type { BudgetDefinition } from "../../../../src/ratelimit/budget/budget.ts";
import type { Budget } from "../../../../src/ratelimit/local/counter_store.ts";
import { LocalCounterStore } from "../../../../src/ratelimit/local/local_counter_store.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { budgetStories } from "../budget_states.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const minute = 60_000;

function limitOf(definition: BudgetDefinition) {
  const clock = new FakeClock();
  const store = new LocalCounterStore(clock);
  const identity = { scope: "s", name: "n", words: "n", isKeyed: false };
  return { store, clock, limit: store.lease().limit(identity, definition) };
}

function budgetOf(definition: Partial<BudgetDefinition>): Budget {
  const { limit } = limitOf({
    unit: "requests",
    base: 3,
    burst: 0,
    windowMs: minute,
    overshoot: "Forgive",
    ...definition,
  });
  return limit.budget("", 0);
}

/** Sends requests one after the other; returns how many were admitted. */
function send(budget: Budget, requests: number, now: number): number {
  let admitted = 0;
  for (let i = 0; i < requests; i++) {
    if (!budget.allows(now)) continue;
    budget.take(now);
    admitted++;
  }
  return admitted;
}

for (const { name, budget: definition, steps } of budgetStories) {
  Deno.test(name, () => {
    const budget = budgetOf(definition);
    for (const step of steps) {
      if ("send" in step) {
        assert.equal(send(budget, step.send, step.at), step.admitted);
      } else if ("debit" in step) {
        budget.debit(tokensUsed(step.debit), step.at);
      } else {
        const { remaining, resetMs } = budget.read(step.at);
        assert.equal(remaining, step.remaining);
        assert.equal(step.resetMs ?? resetMs, resetMs);
      }
    }
  });
}

Deno.test("exhausted: requests are rejected until the window resets, and not a millisecond longer", () => {
  const budget = budgetOf({});
  send(budget, 3, 1000);

  assert.equal(send(budget, 5, 1000), 0);
  assert.equal(send(budget, 5, 1000 + minute - 1), 0);
  assert.equal(budget.waitMs(1000 + minute - 1), 1);
  assert.equal(budget.waitMs(1000 + minute), 0);
  assert.equal(send(budget, 5, 1000 + minute), 3);
});

Deno.test("rejected requests do not move the reset", () => {
  const budget = budgetOf({});
  send(budget, 3, 0);
  for (let now = 0; now < minute; now += 1000) send(budget, 10, now);
  assert.equal(send(budget, 1, minute), 1);
});

Deno.test("overshoot Carry subtracts the debt from the following windows", () => {
  const budget = budgetOf({ unit: "tokens", base: 100, overshoot: "Carry" });
  send(budget, 1, 0);

  budget.debit(tokensUsed(350), 0);

  assert.equal(budget.waitMs(0), 3 * minute);
  assert.equal(send(budget, 1, 2 * minute), 0);
  assert.equal(budget.waitMs(2 * minute + 1), minute - 1);
  assert.equal(budget.read(3 * minute).remaining, 50);
  assert.equal(send(budget, 1, 3 * minute), 1);
  assert.equal(budget.read(9 * minute).remaining, 100);
});

Deno.test("a debt of whole windows is paid off one window later", () => {
  const budget = budgetOf({ unit: "tokens", base: 100, overshoot: "Carry" });
  send(budget, 1, 0);
  budget.debit(tokensUsed(200), 0);

  assert.equal(budget.waitMs(0), 2 * minute);
  assert.equal(send(budget, 1, 2 * minute - 1), 0);
  assert.equal(send(budget, 1, 2 * minute), 1);
});

Deno.test("a refund returns a request to its window and never to a later one", () => {
  const budget = budgetOf({});
  send(budget, 3, 0);

  budget.refund(0, 10);
  assert.equal(send(budget, 3, 20), 1);
  assert.equal(send(budget, 9, minute), 3);
  budget.refund(0, minute);
  assert.equal(send(budget, 9, minute), 0);
});

Deno.test("a budget whose only request was refunded closes", () => {
  const budget = budgetOf({});
  send(budget, 1, 0);
  budget.refund(0, 50_000);
  assert.equal(budget.read(50_000).resetMs, minute);
});

for (const tokens of [-1, 0.5, NaN, Infinity, 2 ** 60]) {
  Deno.test(`a debit of ${tokens} tokens is rejected and changes nothing`, () => {
    const budget = budgetOf({ unit: "tokens", base: 100 });
    assert.throws(() => budget.debit(tokensUsed(tokens), 0), RangeError);
    assert.equal(budget.read(0).remaining, 100);
  });
}

type Step =
  | { readonly kind: "request" | "debit" | "refund"; readonly amount: number }
  | { readonly kind: "wait"; readonly amount: number };

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("request", "debit", "refund", "wait"),
  amount: fc.oneof(fc.nat(20), fc.nat(3 * minute)),
});
const amounts = { base: fc.integer({ min: 1, max: 9 }), burst: fc.nat(9) };

Deno.test("in any order of requests, refunds and resets no window admits more than base and burst", () => {
  fc.assert(
    fc.property(
      amounts.base,
      amounts.burst,
      fc.array(step),
      (base, burst, steps) => {
        const budget = budgetOf({ base, burst });
        const inFlight: number[] = [];
        const admitted: number[] = [];
        let now = 0;
        let windowStart: number | undefined;
        for (const { kind, amount } of steps) {
          if (kind === "wait") now += amount;
          if (windowStart !== undefined && now >= windowStart + minute) {
            const { resetMs, remaining } = budget.read(now);
            windowStart = remaining === base + burst
              ? undefined
              : now + resetMs - minute;
            admitted.length = 0;
          }
          if (kind === "request") {
            for (let i = 0; i < amount % 25 && budget.allows(now); i++) {
              budget.take(now);
              windowStart ??= now;
              inFlight.push(now);
              admitted.push(now);
            }
          }
          const takenAt = kind === "refund" ? inFlight.pop() : undefined;
          if (takenAt !== undefined) {
            budget.refund(takenAt, now);
            if (windowStart !== undefined && takenAt >= windowStart) {
              admitted
                .pop();
            }
          }
          const { remaining, resetMs, limit } = budget.read(now);
          assert.ok(admitted.length <= base + burst);
          assert.ok(remaining >= 0 && remaining <= limit);
          assert.ok(resetMs > 0 && resetMs <= minute);
          assert.equal(budget.allows(now), remaining > 0);
          assert.equal(budget.waitMs(now), remaining > 0 ? 0 : resetMs);
          if (remaining === limit) windowStart = undefined;
        }
      },
    ),
  );
});

Deno.test("in any order of admissions, debits and resets every token is accounted for", () => {
  const overshoot = fc.constantFrom<BudgetDefinition["overshoot"]>(
    "Forgive",
    "Carry",
  );
  fc.assert(
    fc.property(
      amounts.base,
      amounts.burst,
      overshoot,
      fc.array(step),
      (base, burst, overshoot, steps) => {
        const { store, clock, limit } = limitOf({
          unit: "tokens",
          base,
          burst,
          windowMs: minute,
          overshoot,
        });
        const model = { available: base + burst, openedAt: -1 };
        let now = 0;
        let sum = 0;
        for (const { kind, amount } of steps) {
          if (kind === "wait") {
            now += amount;
            clock.advance(amount);
          }
          // The model, window by window.
          while (model.openedAt >= 0 && now >= model.openedAt + minute) {
            if (overshoot === "Forgive") {
              model.available = Math.max(
                0,
                model.available,
              );
            }
            model.available = Math.min(base + burst, model.available + base);
            model.openedAt = model.available === base + burst
              ? -1
              : model.openedAt + minute;
          }
          const budget = limit.budget("", now);
          if (kind === "request" && budget.allows(now)) {
            budget.take(now);
            if (model.openedAt < 0) model.openedAt = now;
          }
          if (kind === "debit" && amount > 0) {
            budget.debit(tokensUsed(amount), now);
            sum += amount;
            model.available -= amount;
            if (model.openedAt < 0) model.openedAt = now;
          }
          const [reading] = store.describe();
          assert(reading);
          const { remaining, overshoot: beyond, charged } = reading;
          assert.equal(remaining, Math.max(0, model.available));
          assert.equal(beyond, Math.max(0, -model.available));
          assert.equal(charged, sum);
          assert.equal(budget.allows(now), model.available > 0);
        }
      },
    ),
  );
});
