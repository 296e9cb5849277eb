import assert from "node:assert/strict";
import { Lease } from "../../../../src/ratelimit/kv/kv_lease.ts";

const available = 1_000_000;

/** A lease whose requests called for 1000 at 50 ms. */
function busyLease(): Lease {
  const lease = new Lease(1000);
  lease.fill(400, 0);
  for (let used = 0; used < 400; used++) lease.use();
  lease.fill(400, 50);
  return lease;
}

Deno.test("a lease does not get smaller while a slow store holds requests up", () => {
  const lease = busyLease();
  for (let used = 0; used < 50; used++) lease.use();

  assert.equal(lease.sizeOf(available, { waiting: 0, now: 130 }), 650);
});

Deno.test("a lease gets smaller when requests call for less", () => {
  const slow = busyLease();
  slow.use();
  assert.equal(slow.sizeOf(available, { waiting: 0, now: 10_000 }), 0);

  const swept = busyLease();
  swept.sweep();
  swept.use();
  swept.drop(swept.sweep());
  assert.equal(swept.held, 2);
  assert.equal(swept.sizeOf(available, { waiting: 0, now: 130 }), 0);
});
