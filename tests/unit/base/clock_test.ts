import assert from "node:assert/strict";
import { recentTime, tickingClock } from "../../../src/base/clock.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

Deno.test("the recent time of a ticking clock is at most 100 ms old, however long it was not asked for", () => {
  const exact = new FakeClock();
  const clock = tickingClock({
    now: () => exact.now(),
    monotonic: () => exact.monotonic(),
    setTimer: (callback, delayMs) => exact.setTimer(callback, delayMs),
  });
  const times: number[] = [];

  for (const ms of [0, 99, 1, 60, 1000, 250]) {
    exact.advance(ms);
    times.push(recentTime(clock));
  }

  assert.deepEqual(times, [0, 0, 100, 100, 1160, 1410]);
  exact.advance(200);
  assert.equal(exact.pending, 0, "the clock ticks although nobody asks");
});
