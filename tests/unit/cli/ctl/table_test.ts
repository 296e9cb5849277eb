import assert from "node:assert/strict";
import { tableOf } from "../../../../cli/output/table.ts";

Deno.test("tableOf aligns columns, also with double-width characters", () => {
  assert.equal(
    tableOf([["NAME", "N"], ["日本語", "1"], ["a", ""]]),
    "NAME    N\n日本語  1\na\n",
  );
});
