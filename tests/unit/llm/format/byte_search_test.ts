import assert from "node:assert/strict";
import { ByteSearch } from "../../../../src/llm/format/byte_search.ts";
import { bytesOf } from "../answers.ts";
import { fc } from "../../../harness/properties.ts";

const parts = ["a", "b", "c", "x", "abc", "ab", "xxxxxxxxxxxxxxxx"];

Deno.test("ByteSearch finds what a search of the text finds", () => {
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

Deno.test("ByteSearch finds a text wherever it is in much text", () => {
  const search = new ByteSearch("abc");
  const kept = 1 << 16;
  for (const at of [0, 1, 15, kept - 2, kept - 1, kept, 2 * kept - 1]) {
    const bytes = new Uint8Array(3 * kept).fill(0x61);
    bytes.set(bytesOf("abc"), at);
    assert.equal(search.find(bytes), at);
  }
});

Deno.test("ByteSearch finds nothing of what an earlier search left behind", () => {
  const search = new ByteSearch("abc");
  assert.equal(search.find(bytesOf(`${"x".repeat(20)}abc`)), 20);
  for (let length = 0; length < 20; length++) {
    assert.equal(search.find(bytesOf("x".repeat(length))), -1);
  }
  assert.equal(search.find(bytesOf(`${"x".repeat(20)}ab`)), -1);
});

Deno.test("ByteSearches of two texts take turns", () => {
  const one = new ByteSearch("ab").findAll(bytesOf("ab..ab..ab"));
  const other = new ByteSearch("cd").findAll(bytesOf(".cd..cd"));
  assert.deepEqual(
    [one.next(0), other.next(0), one.next(1), other.next(2), one.next(5)],
    [0, 1, 4, 5, 8],
  );
});

Deno.test("ByteSearch refuses a text of one character", () => {
  assert.throws(() => new ByteSearch("a"), {
    name: "RangeError",
    message: 'Cannot search: expected two characters or more, got "a"',
  });
});
