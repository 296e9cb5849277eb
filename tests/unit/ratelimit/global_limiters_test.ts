import assert from "node:assert/strict";
import type { Log } from "../../../src/base/log/log.ts";
import { openEgress } from "../../../src/base/wire/egress_policy.ts";
import {
  GlobalLimiters,
  type LimiterPlace,
} from "../../../src/ratelimit/global_limiters.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { useOf } from "./kv_fleet.ts";

const use = useOf({ base: 10 });
const limit = {
  name: "10 requests per minute, by user",
  definition: use.budget,
  keys: use.entries.map(([key]) => key),
};
const place: LimiterPlace = { domain: "fleet", kv: ":memory:" };

function create() {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const told: unknown[] = [];
  const log: Log = {
    error: (message, fields) => void errors.push([message, fields]),
    warn: (message, fields) => void told.push([message, fields]),
    info: (message, fields) => void told.push([message, fields]),
    debug() {},
    trace() {},
    isEnabled: () => false,
  };
  const limiters = new GlobalLimiters({ clock, log, egress: openEgress });
  return { clock, limiters, errors, told };
}

Deno.test("GlobalLimiters share a limiter between equal places, also across configurations", async () => {
  const { limiters } = create();
  const before = limiters.lease();
  const limiter = before.limiter(place, [limit]);
  limiters.open();
  await limiter.admit([use]);

  const after = limiters.lease();
  const same = after.limiter({ ...place }, [limit]);
  const other = after.limiter({ ...place, domain: "other" }, [limit]);
  before.release();
  await limiter.admit([use]);

  assert.equal(same, limiter);
  assert.notEqual(other, limiter);
  assert.deepEqual(
    limiters.describe().map(({ domain, remaining, keys, state }) => (
      { domain, remaining, keys, state }
    )),
    [
      { domain: "fleet", remaining: 8, keys: 1, state: "ready" },
      { domain: "other", remaining: undefined, keys: 0, state: "ready" },
    ],
  );
  assert.deepEqual(
    limiters.count().map(({ domain, admitted }) => [domain, admitted]),
    [["fleet", 2], ["other", 0]],
  );
  await limiters.close();
});

Deno.test("GlobalLimiters keep an unused limiter for ten minutes for late requests", async () => {
  const { clock, limiters } = create();
  const lease = limiters.lease();
  const limiter = lease.limiter(place, [limit]);
  limiters.open();
  await limiter.admit([use]);

  lease.release();
  clock.advance(599_000);
  const late = await limiter.admit([use]);
  assert.deepEqual(limiters.describe(), []);
  clock.advance(1000);
  const tooLate = await limiter.admit([use]);

  assert.equal(late.verdict, "admitted");
  assert.equal(tooLate.verdict, "failed");
  await limiters.close();
});

Deno.test("GlobalLimiters reuse a limiter that is configured again in time", async () => {
  const { clock, limiters } = create();
  const lease = limiters.lease();
  const limiter = lease.limiter(place, [limit]);
  limiters.open();
  lease.release();
  clock.advance(599_000);

  const again = limiters.lease().limiter(place, [limit]);
  clock.advance(600_000);

  assert.equal(again, limiter);
  assert.equal((await again.admit([use])).verdict, "admitted");
  await limiters.close();
});

Deno.test("GlobalLimiters close a limiter whose configuration was never in force", async () => {
  const { clock, limiters } = create();
  const lease = limiters.lease();
  const limiter = lease.limiter(place, [limit]);

  lease.release();

  assert.equal((await limiter.admit([use])).verdict, "failed");
  await limiters.close();
  assert.equal(clock.pending, 0);
});

Deno.test("GlobalLimiters close the oldest of many unused limiters first", async () => {
  const { limiters } = create();
  const retired = Array.from({ length: 17 }, (_, index) => {
    const lease = limiters.lease();
    const limiter = lease.limiter({ ...place, domain: `${index}` }, [limit]);
    limiters.open();
    lease.release();
    return limiter;
  });

  const verdicts = await Promise.all(
    retired.map(async (limiter) => (await limiter.admit([use])).verdict),
  );

  assert.deepEqual(verdicts.slice(0, 2), ["failed", "admitted"]);
  await limiters.close();
});

Deno.test("GlobalLimiters describe a limit of several routes once", async () => {
  const { limiters } = create();
  const lease = limiters.lease();
  for (let route = 0; route < 3; route++) lease.limiter(place, [limit]);
  limiters.open();

  assert.deepEqual(limiters.describe().map(({ name }) => name), [limit.name]);
  await limiters.close();
});

Deno.test("GlobalLimiters log a store that cannot be opened before the first request, and the consequence", async () => {
  const { limiters, errors } = create();
  const kv = "/nowhere/limits.db";
  const limiter = limiters.lease().limiter({ domain: "fleet", kv }, [limit]);
  limiters.open();
  const { verdict } = await limiter.admit([use]);

  assert.equal(verdict, "failed");
  const [status] = limiters.describe();
  assert.equal(status?.state, "failing");
  assert.equal(status.remaining, undefined);
  assert.match(String(status.lastError), /Cannot open "\/nowhere\/limits.db"/);
  assert.match(
    JSON.stringify(errors),
    /Cannot reach the store or service of global limits: .* get 503, or pass if failureMode is Open/,
  );
  await limiters.close();
});

Deno.test("GlobalLimiters log when a limiter fails and when it recovers, not every request", async () => {
  const { clock, limiters, told } = create();
  const service = { host: "127.0.0.1", port: 1, tls: undefined };
  const away = { domain: "fleet", service };
  const limiter = limiters.lease().limiter(away, [limit]);
  for (let i = 0; i < 3; i++) await limiter.admit([use]);
  // Without descriptors there is nothing to fail.
  await limiter.admit([]);
  await limiter.admit([use]);
  clock.advance(10_000);
  await limiter.admit([use]);

  const which = { domain: "fleet", store: "127.0.0.1:1" };
  const lines = told.map((line) => Array.isArray(line) ? line : []);
  assert.deepEqual(lines.map(([message]) => String(message).slice(0, 22)), [
    "Global limits are not ",
    "Global limits are avai",
    "Global limits are not ",
  ]);
  assert.match(
    String(lines[0]?.[1].error),
    /Call to the rate limit service/,
  );
  assert.deepEqual(lines[1]?.[1], { ...which, requests: 3 });
  await limiters.close();
});
