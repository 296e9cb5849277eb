import assert from "node:assert/strict";
import { Sampler } from "../../../../src/telemetry/requests/sampler.ts";

function takenOf(sampler: Sampler, times: readonly number[]): number {
  return times.filter((time) => sampler.takes(time)).length;
}

Deno.test("few requests are all taken, and of a flood as many as the rate allows", () => {
  const sampler = new Sampler(50);
  const at = (start: number, count: number, spanMs: number) =>
    Array.from({ length: count }, (_, i) => start + i * spanMs / count);

  assert.equal(takenOf(sampler, at(0, 90, 1000)), 90);
  assert.equal(takenOf(sampler, at(60_000, 20_000, 1000)), 149);
  assert.equal(takenOf(sampler, at(61_000, 100_000, 10_000)), 500);
});

Deno.test("a clock that is set back stops nothing", () => {
  const sampler = new Sampler(1);
  assert.equal(takenOf(sampler, [100_000, 5000, 5001]), 2);
  assert(sampler.takes(6100));
});
