import assert from "node:assert/strict";
import {
  diffFields,
  patchFields,
} from "../../../../src/dataplane/workers/fields_change.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const OBJECTS = Array.from({ length: 8 }, (_, id) => ({ id }));

Deno.test("a change of lists, sent to another thread, gives the same lists, and keeps the objects that stay", () => {
  const list = fc.uniqueArray(fc.constantFrom(...OBJECTS));
  fc.assert(fc.property(list, list, fc.boolean(), (before, after, flag) => {
    const received = structuredClone({ list: before, names: ["a"] });
    const next = { list: after, names: ["a", "b"], flag };
    const change = diffFields<object>({ list: before, names: ["a"] }, next);
    const patched = patchFields<{ list: readonly { id: number }[] }>(
      received,
      structuredClone(change),
    );
    assert.deepEqual(patched, next);
    for (const [index, item] of after.entries()) {
      const place = before.indexOf(item);
      if (place >= 0) assert.equal(patched.list[index], received.list[place]);
    }
  }));
});

Deno.test("a change of one of many objects has only that one", () => {
  const before = { list: OBJECTS };
  const after = { list: OBJECTS.with(3, { id: 99 }) };
  assert.deepEqual(diffFields(before, after), {
    list: {
      parts: [{ from: 0, to: 3 }, { items: [{ id: 99 }] }, { from: 4, to: 8 }],
    },
  });
});
