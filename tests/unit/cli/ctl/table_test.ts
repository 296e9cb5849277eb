import assert from "node:assert/strict";
import { tableOf } from "../../../../cli/ctl/table.ts";

Deno.test("tableOf puts columns below each other, of characters that take two columns too", () => {
  assert.equal(
    tableOf([["NAME", "N"], ["日本語", "1"], ["a", ""]]),
    "NAME    N\n日本語  1\na\n",
  );
});
