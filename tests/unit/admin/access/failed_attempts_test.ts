import assert from "node:assert/strict";
import { FailedAttempts } from "../../../../admin/access/failed_attempts.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const client = "192.0.2.1";

function start() {
  const clock = new FakeClock();
  const attempts = new FailedAttempts(clock);
  const fail = (count: number, address = client) => {
    for (let each = 0; each < count; each++) attempts.failed(address);
  };
  return { clock, attempts, fail };
}

Deno.test("an address waits from its eleventh wrong token on, each time twice as long, up to half a minute", () => {
  const { clock, attempts, fail } = start();
  fail(10);
  assert.equal(attempts.waitMs(client), 0);

  const waits = Array.from({ length: 7 }, () => {
    attempts.failed(client);
    const waitMs = attempts.waitMs(client);
    clock.advance(waitMs);
    return waitMs / 1000;
  });

  assert.deepEqual(waits, [1, 2, 4, 8, 16, 30, 30]);
  assert.equal(attempts.waitMs(client), 0);
});

Deno.test("attempts while an address waits do not prolong that, and are counted", () => {
  const { clock, attempts, fail } = start();
  fail(11);
  for (let each = 0; each < 3000; each++) {
    assert.ok(attempts.waitMs(client) > 0);
  }

  clock.advance(1000);

  assert.equal(attempts.waitMs(client), 0);
  assert.deepEqual(attempts.failed(client), { failures: 12, skipped: 3000 });
});

Deno.test("addresses wait for their own failures; those of a network of IPv6 wait together", () => {
  const { attempts, fail } = start();
  fail(11);
  fail(11, "2001:db8::1");

  assert.equal(attempts.waitMs("192.0.2.2"), 0);
  assert.ok(attempts.waitMs("2001:db8:0:0:5::2") > 0);
  assert.equal(attempts.waitMs("2001:db8:1::1"), 0);
});

Deno.test("a right token and ten quiet minutes forget the failures of an address", () => {
  const { clock, attempts, fail } = start();
  fail(10);
  attempts.succeeded(client);
  assert.equal(attempts.failed(client).failures, 1);

  fail(9);
  clock.advance(10 * 60_000);

  assert.equal(attempts.failed(client).failures, 1);
});

Deno.test("many addresses together get ten attempts a second after a hundred, and hold up none whose token was right", () => {
  const { clock, attempts } = start();
  attempts.succeeded("192.0.2.9");
  for (let each = 0; each < 100; each++) {
    attempts.failed(`198.51.100.${each}`);
  }

  assert.equal(attempts.waitMs("203.0.113.1"), 1000);
  assert.equal(attempts.waitMs("192.0.2.9"), 0);
  clock.advance(1000);
  let checked = 0;
  for (; attempts.waitMs("203.0.113.1") === 0; checked++) {
    attempts.failed(`203.0.113.${checked}`);
  }
  assert.equal(checked, 10);
});

Deno.test("a million addresses are not remembered", () => {
  const { attempts, fail } = start();
  fail(11);

  for (let each = 0; each < 1024; each++) attempts.failed(`10.0.${each}.1`);
  attempts.succeeded("192.0.2.200");

  assert.equal(attempts.failed(client).failures, 1);
});
