import assert from "node:assert/strict";
import { MemoryRecords, updating } from "../../../src/kv/kv_records.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

Deno.test("records in memory are replaced by compare-and-swap, expire, and are never dropped for others", async () => {
  const clock = new FakeClock();
  const records = new MemoryRecords(clock, 1024);
  const long = { value: "x".repeat(400), expireInMs: 1000 };

  const first = await records.replace(["a"], null, { value: 1 });
  const again = await records.replace(["a"], null, { value: 2 });
  await records.replace(["b"], null, long);
  const full = await records.replace(["c"], null, long)
    .catch((error) => error.message);
  const kept = [await records.read(["a"]), await records.read(["b"])];
  clock.advance(1000);
  const expired = await records.read(["b"]);
  const afterwards = await records.replace(["c"], null, long);

  assert.deepEqual([first, again], [true, false]);
  assert.equal(full, "too many records are in use");
  assert.deepEqual(kept.map(({ value }) => value), [1, long.value]);
  assert.deepEqual(expired, { value: null, version: null });
  assert.equal(afterwards, true);
});

Deno.test("updates at the same time all count", async () => {
  const records = new MemoryRecords(new FakeClock());
  const store = updating(records);

  await Promise.all(
    Array.from(
      { length: 20 },
      () => store.update(["n"], (value) => ({ value: Number(value) + 1 })),
    ),
  );

  assert.equal((await records.read(["n"])).value, 20);
});
