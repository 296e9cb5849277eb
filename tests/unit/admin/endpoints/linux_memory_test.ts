import assert from "node:assert/strict";
import { parseSmaps } from "../../../../admin/target/linux_memory.ts";

Deno.test("parseSmaps converts names and sizes", () => {
  const text = [
    "55a610892000-7ffc170c9000 ---p 00000000 00:00 0    [rollup]",
    "Rss:                1644 kB",
    "Private_Dirty:       116 kB",
    "KSM:                   0 kB",
    "VmFlags: rd ex",
  ].join("\n");

  assert.deepEqual(parseSmaps(text), {
    rssBytes: 1644 * 1024,
    privateDirtyBytes: 116 * 1024,
    ksmBytes: 0,
  });
});
