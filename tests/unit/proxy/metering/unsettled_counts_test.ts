import assert from "node:assert/strict";
import { UnsettledCounts } from "../../../../src/proxy/metering/meter/unsettled_counts.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

Deno.test("reports wait for the counts under way, and no longer than a second", async () => {
  const clock = new FakeClock();
  const counts = new UnsettledCounts(clock);
  await counts.settled();

  const first = Promise.withResolvers<void>();
  counts.add(first.promise);
  let isSettled = false;
  const settled = counts.settled().then(() => isSettled = true);
  await Promise.resolve();
  assert.equal(isSettled, false);
  first.resolve();
  await settled;

  counts.add(new Promise(() => {}));
  const late = counts.settled();
  clock.advance(1000);
  await late;
});
