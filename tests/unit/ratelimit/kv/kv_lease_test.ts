import assert from "node:assert/strict";
import { Lease } from "../../../../src/ratelimit/kv/kv_lease.ts";

const available = 1_000_000;

function use(lease: Lease, count: number): void {
  for (let used = 0; used < count; used++) lease.use();
}

Deno.test("a lease follows the rate of requests", () => {
  const lease = new Lease(1000);
  lease.fill(lease.missing(available, 1));
  assert.equal(lease.held, 1);

  use(lease, 1);
  assert.equal(lease.isLow(available), false);
  lease.fill(lease.missing(available, 1));
  use(lease, 1);
  assert.equal(lease.isLow(available), true);
  lease.fill(lease.missing(available, 0));
  assert.equal(lease.held, 4);
  use(lease, 4);
  lease.fill(lease.missing(available, 0));
  assert.equal(lease.held, 20);
});

Deno.test("a lease is at most an eighth of what is left", () => {
  const lease = new Lease(1000);
  lease.fill(100);
  use(lease, 100);

  assert.equal(lease.missing(800, 0), 100);
  assert.equal(lease.missing(7, 0), 0);
  assert.equal(lease.missing(7, 3), 3);
  assert.equal(lease.missing(2, 3), 2);
});

Deno.test("a lease shrinks when fewer requests come", () => {
  const lease = new Lease(1000);
  lease.fill(400);
  use(lease, 100);

  assert.equal(lease.sweep(), 0);
  use(lease, 10);
  lease.drop(lease.sweep());
  assert.equal(lease.held, 20);
  lease.drop(lease.sweep());
  assert.equal(lease.held, 0);
  assert.equal(lease.isInUse, false);
});
