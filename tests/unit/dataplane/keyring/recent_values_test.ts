import assert from "node:assert/strict";
import { RecentValues } from "../../../../src/dataplane/keyring/recent_values.ts";

Deno.test("values that were used last are kept, and never more than the maximum", () => {
  const values = new RecentValues<number>(10);
  const kept = () =>
    Array.from({ length: 1000 }, (_, index) => values.get(`key ${index}`))
      .filter((value) => value !== undefined);
  for (let index = 0; index < 1000; index++) {
    values.set(`key ${index}`, index);
    assert.equal(values.get("key 0"), 0);
    assert.equal(
      values.get(`key ${Math.max(0, index - 1)}`),
      Math.max(0, index - 1),
    );
  }
  const all = kept();
  values.clear();

  assert(all.length <= 10 && all.includes(0) && all.includes(999), String(all));
  assert.deepEqual(kept(), []);
});
