import assert from "node:assert/strict";
import { openEgress } from "../../../../src/base/wire/egress_policy.ts";
import { WorkerLimiters } from "../../../../src/dataplane/state/worker_limiters.ts";
import { noUse } from "../../../../src/ratelimit/budget/budget.ts";
import {
  GlobalLimiters,
  limiterKey,
  type LimiterPlace,
} from "../../../../src/ratelimit/global_limiters.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { useOf } from "../../ratelimit/kv_fleet.ts";

const name = "100 tokens per minute, by user";
const use = { ...useOf({ unit: "tokens", base: 100, reserves: true }), name };
const limit = {
  name,
  definition: use.budget,
  keys: use.entries.map(([key]) => key),
};
const place: LimiterPlace = { domain: "fleet", kv: ":memory:" };
const key = limiterKey(place);
const expected = { ...noUse, totalTokens: 30 };
const silent = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  trace() {},
  isEnabled: () => false,
};

function start() {
  const limiters = new GlobalLimiters({
    clock: new FakeClock(),
    log: silent,
    egress: openEgress,
  });
  const connect = () => {
    const worker = new WorkerLimiters(limiters);
    worker.handlers.useLimiter(1, place, [limit]);
    return worker;
  };
  const [one, two] = [connect(), connect()];
  limiters.open();
  return {
    one,
    two,
    /** Held by the budget, and by the metric. */
    held: () => [
      limiters.describe()[0]?.held,
      limiters.count()[0]?.limits[0]?.held,
    ],
    [Symbol.asyncDispose]: () => limiters.close(),
  };
}

/** Returns what an admitted request holds. */
async function admit({ handlers }: WorkerLimiters) {
  const decision = await handlers.admit(key, [use], expected);
  assert(decision.verdict === "admitted");
  return { takenAt: decision.takenAt, expected };
}

Deno.test("a worker that ends leaves nothing held, and others keep what they hold", async () => {
  await using test = start();
  const { one, two } = test;
  const settled = await admit(one);
  await admit(one);
  const other = await admit(two);
  one.handlers.debit(key, [use], noUse, settled);
  assert.deepEqual(test.held(), [60, 60]);

  one.end();
  assert.deepEqual(test.held(), [30, 30]);
  // A message that was still on its way.
  one.handlers.debit(key, [use], noUse, settled);
  assert.deepEqual(test.held(), [30, 30]);
  two.handlers.refund(key, [use], other);
  assert.deepEqual(test.held(), [0, 0]);
  two.end();
});

Deno.test("a request that is admitted after the end of its worker holds nothing", async () => {
  await using test = start();
  const admitted = admit(test.one);
  test.one.end();
  await admitted;
  assert.deepEqual(test.held(), [0, 0]);
  test.two.end();
});
