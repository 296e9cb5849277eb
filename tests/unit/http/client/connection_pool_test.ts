import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import type { Connection } from "../../../../src/http/client/connection.ts";
import { ConnectionPool } from "../../../../src/http/client/pool/connection_pool.ts";
import type { Dialer } from "../../../../src/http/client/pool/dialer.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import {
  failureOf,
  optionsOf,
} from "../../../harness/clients/upstream_requests.ts";

Deno.test("ConnectionPool fails a request when connecting takes too long", async () => {
  const clock = new FakeClock();
  const { dial, signals } = endlessDialer();
  const pool = new ConnectionPool(optionsOf(), dial, clock);
  const failure = failureOf(pool.nextReady([], new Cancellation()));

  clock.advance(10_000);

  assert.equal((await failure).code, "upstream_timeout");
  assert.match((await failure).message, /Cannot connect .* within 10000 ms/);
  assert.equal(signals[0]?.aborted, true);
  assert.equal(clock.pending, 0);
});

Deno.test("ConnectionPool stops connecting when the client leaves", async () => {
  const { dial, signals } = endlessDialer();
  const pool = new ConnectionPool(optionsOf(), dial, new FakeClock());
  const cancellation = new Cancellation();
  const failure = failureOf(pool.nextReady([], cancellation));

  cancellation.cancel("gone");

  assert.equal((await failure).code, "client_closed");
  assert.equal(signals[0]?.aborted, true);
  assert.equal(pool.stats.pending, 0);
});

Deno.test("ConnectionPool keeps connecting for remaining waiters", async () => {
  const { dial, signals } = endlessDialer();
  const pool = new ConnectionPool(optionsOf(), dial, new FakeClock());
  const cancellation = new Cancellation();
  const left = failureOf(pool.nextReady([], cancellation));
  const stays = failureOf(pool.nextReady([], new Cancellation()));

  cancellation.cancel("gone");

  await left;
  assert.deepEqual(signals.map(({ aborted }) => aborted), [false, true]);
  pool.close();
  await stays;
});

Deno.test("ConnectionPool opens one connection when it may serve all waiters", async () => {
  const { dial, signals } = endlessDialer();
  const options = optionsOf({ protocol: "http2" });
  const pool = new ConnectionPool(options, dial, new FakeClock());
  const waiting = [1, 2, 3].map(() =>
    failureOf(pool.nextReady([], new Cancellation()))
  );

  assert.equal(signals.length, 1);
  pool.close();
  await Promise.all(waiting);
});

/** Creates a dialer that never connects; `signals` are those of its attempts. */
function endlessDialer(): { dial: Dialer; signals: AbortSignal[] } {
  const signals: AbortSignal[] = [];
  const dial: Dialer = (_context, signal) => {
    signals.push(signal);
    return new Promise<Connection>((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    );
  };
  return { dial, signals };
}
