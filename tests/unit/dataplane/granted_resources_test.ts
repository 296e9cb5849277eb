import assert from "node:assert/strict";
import {
  defaultWorkers,
  workerHeapMegabytes,
} from "../../../src/dataplane/granted_resources.ts";

Deno.test("there is a worker for each processor, as far as the memory suffices, and at least one", () => {
  const cases: [processors: number, megabytes: number, workers: number][] = [
    [1, 100_000, 1],
    [2, 100_000, 2],
    [8, 1024, 4],
    [8, 1023, 3],
    [8, 100, 1],
    [128, 1_000_000, 64],
  ];
  for (const [processors, megabytes, workers] of cases) {
    assert.equal(defaultWorkers({ processors, megabytes }), workers);
  }
});

Deno.test("the heaps of all workers together have three quarters of the memory, and each between 64 MiB and 4 GiB", () => {
  const heap = (count: number, megabytes: number) =>
    workerHeapMegabytes(count, { processors: count, megabytes });
  assert.deepEqual(
    [heap(2, 1024), heap(8, 512), heap(1, 100_000)],
    [384, 64, 4096],
  );
});

Deno.test("without a setting, this machine has a worker for each processor it grants", () => {
  assert(defaultWorkers() >= 1);
  assert(defaultWorkers() <= navigator.hardwareConcurrency);
});
