import assert from "node:assert/strict";
import { ByteSearch } from "../../../../src/base/wire/byte_search.ts";
import { bytesOf } from "../../llm/llm_responses.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const parts = ["a", "b", "c", "x", "abc", "ab", "xxxxxxxxxxxxxxxx"];

Deno.test("ByteSearch finds what String.indexOf finds", () => {
  const search = new ByteSearch("abc");
  const text = fc.array(fc.constantFrom(...parts), { maxLength: 40 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.nat(60), (text, from) => {
      assert.equal(
        search.findAll(bytesOf(text)).next(from),
        from > text.length ? -1 : text.indexOf("abc", from),
      );
    }),
    { numRuns: 2000 },
  );
});

Deno.test("ByteSearch rejects a string of one character", () => {
  assert.throws(() => new ByteSearch("a"), {
    name: "RangeError",
    message: 'Cannot search: expected two characters or more, got "a"',
  });
});
