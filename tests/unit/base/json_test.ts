import assert from "node:assert/strict";
import {
  listAt,
  objectAt,
  objectsAt,
  stringsAt,
  valueAt,
} from "../../../src/base/json.ts";

Deno.test("values at paths of JSON of unknown shape are empty where there are none", () => {
  const value = { spec: { names: ["a", 1, "b"], items: [{ x: 1 }, null] } };

  assert.equal(valueAt(value, "spec", "items", "length"), undefined);
  assert.equal(valueAt(undefined, "spec"), undefined);
  assert.deepEqual(valueAt(value), value);
  assert.deepEqual(objectAt(value, "spec", "names"), {});
  assert.deepEqual(listAt(value, "spec"), []);
  assert.deepEqual(objectsAt(value, "spec", "items"), [{ x: 1 }]);
  assert.deepEqual(stringsAt(value, "spec", "names"), ["a", "b"]);
});
