import assert from "node:assert/strict";
import {
  Delivery,
  type DropReason,
} from "../../../../src/telemetry/otlp/delivery/delivery.ts";
import type { ExportResult } from "../../../../src/telemetry/otlp/delivery/export_result.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const accepted = { kind: "accepted", rejected: 0 } as const;
const error = new Error("no");

/** A delivery whose collector responds as given, once for each attempt, then accepts. */
function start(...results: (ExportResult | Promise<ExportResult>)[]) {
  const clock = new FakeClock();
  const batches: number[] = [];
  const dropped: [DropReason, number][] = [];
  let exported = 0;
  const delivery = new Delivery({
    clock,
    random: () => 1,
    send: (records) => {
      batches.push(records.length);
      return Promise.resolve(results.shift() ?? accepted);
    },
    onExported: (records) => exported += records,
    onDropped: (reason, records) => dropped.push([reason, records]),
    onAttempt: () => {},
  });
  const add = (count: number, bytes = 10) => {
    for (let i = 0; i < count; i++) delivery.add(new Uint8Array(bytes));
  };
  return { clock, delivery, batches, dropped, exported: () => exported, add };
}

/** Lets promises that are settled run their reactions. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

Deno.test("records wait a second for others", async () => {
  const { clock, batches, exported, add } = start();
  add(3);
  clock.advance(999);
  assert.deepEqual(batches, []);

  clock.advance(1);
  await settle();

  assert.deepEqual(batches, [3]);
  assert.equal(exported(), 3);
});

Deno.test("a full batch goes at once, by number and by size", async () => {
  const byNumber = start();
  byNumber.add(512);
  const bySize = start();
  bySize.add(5, 300_000);
  await settle();

  assert.deepEqual(byNumber.batches, [512]);
  assert.deepEqual(bySize.batches, [3]);
});

Deno.test("records beyond the queue are dropped and counted", async () => {
  const { delivery, dropped, add } = start(new Promise(() => {}));
  add(512);
  await settle();

  add(8192 + 5);

  assert.deepEqual(dropped, Array(5).fill(["queue_full", 1]));
  assert.deepEqual(delivery.waiting, { used: 8192, capacity: 8192 });
});

Deno.test("the queue has a limit of bytes", async () => {
  const { dropped, add } = start(new Promise(() => {}));
  add(1, 1024 * 1024);
  await settle();

  add(9, 1024 * 1024);

  assert.deepEqual(dropped, [["queue_full", 1]]);
});

Deno.test("an unavailable collector gets the batch again, later each time", async () => {
  const unavailable = { kind: "unavailable", error } as const;
  const { clock, batches, dropped, exported, add } = start(
    unavailable,
    unavailable,
    unavailable,
  );
  add(512);
  await settle();
  for (const delayMs of [500, 1000, 2000]) {
    const before = batches.length;
    clock.advance(delayMs - 1);
    await settle();
    assert.equal(batches.length, before);
    clock.advance(1);
    await settle();
    assert.equal(batches.length, before + 1);
  }

  assert.deepEqual(batches, [512, 512, 512, 512]);
  assert.equal(exported(), 512);
  assert.deepEqual(dropped, []);
});

Deno.test("the collector says when to try again", async () => {
  const { clock, batches, add } = start(
    { kind: "unavailable", error, retryAfterMs: 7000 },
  );
  add(512);
  await settle();
  clock.advance(6999);
  await settle();
  assert.equal(batches.length, 1);

  clock.advance(1);
  await settle();

  assert.equal(batches.length, 2);
});

Deno.test("a batch that is not taken for a minute is dropped", async () => {
  const results = Array(20).fill({ kind: "unavailable", error } as const);
  const { clock, dropped, exported, add } = start(...results);
  add(512);
  for (let second = 0; second < 61; second++) {
    await settle();
    clock.advance(1000);
  }
  await settle();

  assert.deepEqual(dropped, [["unavailable", 512]]);
  assert.equal(exported(), 0);
});

Deno.test("rejected records are dropped at once, all or some", async () => {
  const all = start({ kind: "rejected", error });
  all.add(512);
  const some = start({ kind: "accepted", rejected: 2 });
  some.add(512);
  await settle();

  assert.deepEqual(all.dropped, [["rejected", 512]]);
  assert.equal(all.batches.length, 1);
  assert.deepEqual(some.dropped, [["rejected", 2]]);
  assert.equal(some.exported(), 510);
});

Deno.test("closing sends everything, once", async () => {
  const { delivery, batches, dropped, exported, add } = start(
    { kind: "unavailable", error },
  );
  add(600);
  await delivery.close(1000);

  assert.deepEqual(batches, [512, 88]);
  assert.equal(exported(), 88);
  assert.deepEqual(dropped, [["unavailable", 512]]);
});

Deno.test("closing ends the wait for another attempt", async () => {
  const { delivery, batches, exported, add } = start(
    { kind: "unavailable", error, retryAfterMs: 20_000 },
  );
  add(512);
  await settle();

  await delivery.close(1000);

  assert.deepEqual(batches, [512, 512]);
  assert.equal(exported(), 512);
});

Deno.test("closing waits no longer than it is told", async () => {
  const { clock, delivery, dropped, add } = start(new Promise(() => {}));
  add(600);
  await settle();

  const closed = delivery.close(1000);
  clock.advance(1000);
  await closed;
  add(1);

  assert.deepEqual(dropped, [["unavailable", 88], ["queue_full", 1]]);
});
