import assert from "node:assert/strict";
import { readMembers } from "../../../src/base/json/decode_members.ts";

Deno.test("members of a record have the kinds that are required", () => {
  const kinds = { name: "string", at: "number", scopes: "strings" } as const;
  const record = { name: "a", at: 1, scopes: ["x", 2], other: true };
  assert.deepEqual(readMembers(record, kinds), {
    name: "a",
    at: 1,
    scopes: ["x"],
  });
  for (const name of Object.keys(kinds)) {
    assert.equal(readMembers({ ...record, [name]: {} }, kinds), undefined);
    assert.equal(
      readMembers({ ...record, [name]: undefined }, kinds),
      undefined,
    );
  }
  for (const value of [undefined, null, "text", [record]]) {
    assert.equal(readMembers(value, kinds), undefined);
  }
});

Deno.test("optional members of another kind are undefined", () => {
  const optional = { on: "boolean", claims: "object" } as const;
  const read = (value: object) => readMembers(value, {}, optional);
  assert.deepEqual(read({ on: false, claims: { sub: "a" } }), {
    on: false,
    claims: { sub: "a" },
  });
  assert.deepEqual(read({ on: 1, claims: [] }), {
    on: undefined,
    claims: undefined,
  });
});
