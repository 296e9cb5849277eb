import assert from "node:assert/strict";
import { resultForEra } from "../../../../src/mcp/clients/revision_results.ts";

Deno.test("no result may be shared between users, who may have other rules", () => {
  const read = { contents: [], ttlMs: 5, cacheScope: "public" };

  const { _meta, ...modern } = resultForEra("modern", "resources/read", read);
  const legacy = resultForEra("legacy", "resources/read", read);

  assert.deepEqual(modern, {
    resultType: "complete",
    ...read,
    cacheScope: "private",
  });
  assert.deepEqual(legacy, { contents: [] });
});
