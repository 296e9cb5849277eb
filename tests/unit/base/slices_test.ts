import assert from "node:assert/strict";
import { mapInSlices } from "../../../src/base/slices.ts";

Deno.test("mapInSlices maps as map does", async () => {
  const items = Array.from({ length: 1000 }, (_, index) => index);

  assert.deepEqual(
    await mapInSlices(new Set(items), (item) => item * 2),
    items.map((item) => item * 2),
  );
});

Deno.test("mapInSlices lets everything else go on in between", async () => {
  const seen: string[] = [];
  setImmediate(() => seen.push("other"));

  await mapInSlices(Array(100).keys(), (item) => seen.push(`item ${item}`));

  const other = seen.indexOf("other");
  assert(other > 0 && other < 100, `after ${other} items`);
});
