import assert from "node:assert/strict";
import fc from "fast-check";
import { ByteSearch } from "../../../src/llm/byte_search.ts";
import { bytesOf } from "./answers.ts";

Deno.test("ByteSearch finds what a search of the text finds", () => {
  const search = new ByteSearch("abc");
  const text = fc.array(fc.constantFrom("a", "b", "c", "x", "abc"), {
    maxLength: 40,
  }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.nat(60), (text, from) => {
      assert.equal(
        search.find(bytesOf(text), from),
        from > text.length ? -1 : text.indexOf("abc", from),
      );
    }),
    { numRuns: 2000 },
  );
});

Deno.test("ByteSearch refuses a text in which a character occurs twice", () => {
  assert.throws(() => new ByteSearch("aba"), {
    name: "RangeError",
    message: 'Cannot search: expected different characters, got "aba"',
  });
});
