import assert from "node:assert/strict";
import { KvFleet, useOf } from "./kv_fleet.ts";

const DAY_MS = 86_400_000;

/** Sends requests through every limiter all the time; returns how many were admitted. */
async function hammer(
  fleet: KvFleet,
  { base, windowMs, forMs }: {
    readonly base: number;
    readonly windowMs: number;
    readonly forMs: number;
  },
): Promise<number> {
  const uses = [useOf({ base, windowMs })];
  let admitted = 0;
  for (let passed = 0; passed < forMs; passed += 20) {
    for (const limiter of fleet.limiters) {
      admitted += await fleet.admit(uses, 2, limiter);
    }
    fleet.clock.advance(20);
    await fleet.rest();
  }
  return admitted;
}

const skewed: readonly (readonly number[])[] = [
  [0, 400],
  [0, 1000],
  [0, 1500],
  [1500, 0],
  [0, -1500],
  [0, 60_000],
  [0, DAY_MS],
];
for (const skews of skewed) {
  Deno.test(`KvLimiters whose clocks are ${skews} ms ahead admit at most one window more`, async () => {
    await using fleet = await KvFleet.open(2, {}, { skews });

    const admitted = await hammer(fleet, {
      base: 10,
      windowMs: 1000,
      forMs: 4000,
    });

    assert(admitted >= 40 && admitted <= 50, `${admitted}`);
  });
}

Deno.test("KvLimiters with many clocks admit at most the documented number", async () => {
  const skews = [0, 1200, 2400, 3600];
  await using fleet = await KvFleet.open(4, {}, { skews });

  const admitted = await hammer(fleet, {
    base: 10,
    windowMs: 1000,
    forMs: 5000,
  });

  assert(admitted >= 50 && admitted <= 10 * (2 + 5 + 3.6), `${admitted}`);
});

Deno.test("KvLimiter ends a window after its length even if a clock far ahead opened it", async () => {
  await using fleet = await KvFleet.open(2, {}, { skews: [DAY_MS, 0] });
  const [ahead, behind] = fleet.limiters;
  const uses = [useOf({ base: 3 })];
  assert.equal(await fleet.admit(uses, 9, ahead), 3);

  const refusal = await fleet.until(behind?.admit(uses) ?? assert.fail());
  await fleet.pass(59_999);
  const before = await fleet.admit(uses, 9, behind);
  await fleet.pass(1);

  assert(refusal.verdict === "refused");
  assert.equal(refusal.refusedBy?.resetMs, 60_000);
  assert.equal(before, 0);
  assert.equal(await fleet.admit(uses, 9, behind), 3);
  assert.equal(await fleet.admit(uses, 9, ahead), 0);
});

Deno.test("KvLimiter continues its windows when its clock is set back", async () => {
  await using fleet = await KvFleet.open(1);
  const uses = [useOf({ base: 3, windowMs: 1000 })];
  const now = fleet.clock.now.bind(fleet.clock);
  assert.equal(await fleet.admit(uses, 9), 3);

  fleet.clock.now = () => now() - DAY_MS;
  const admitted: number[] = [];
  for (let window = 0; window < 4; window++) {
    admitted.push(await fleet.admit(uses, 9));
    await fleet.pass(1000);
  }

  assert.deepEqual(admitted, [0, 3, 3, 3]);
});
