import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Body } from "../../../../../src/http/body.ts";
import { RestampedBody } from "../../../../../src/proxy/trace/spans/restamped_body.ts";

function bodyOf(chunks: string[], isLate: boolean): Body {
  return {
    length: chunks.join("").length,
    trailers: undefined,
    read: () => {
      const next = chunks.shift();
      const chunk = next === undefined ? undefined : Buffer.from(next);
      return isLate ? Promise.resolve(chunk) : chunk;
    },
    cancel: () => {},
  };
}

async function readAll(body: Body): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (let next; (next = await body.read()) !== undefined;) chunks.push(next);
  return Buffer.concat(chunks).toString();
}

for (const isLate of [false, true]) {
  for (
    const { chunks, expected } of [
      { chunks: ["a:old;old", "old"], expected: "a:new;oldold" },
      { chunks: ["a:other;old"], expected: "a:other;old" },
      { chunks: ["a:o", "ld"], expected: "a:old" },
      { chunks: [], expected: "" },
    ]
  ) {
    Deno.test(`the text at its place is replaced in ${JSON.stringify(chunks)}, ${isLate ? "late" : "at hand"}`, async () => {
      const source = bodyOf([...chunks], isLate);
      const body = new RestampedBody(source, { at: 2, from: "old", to: "new" });

      assert.equal(body.length, source.length);
      assert.equal(await readAll(body), expected);
    });
  }
}

Deno.test("the bytes that another attempt reads stay as they are", () => {
  const bytes = Buffer.from("a:old");
  const source = { ...bodyOf([], false), read: () => bytes };

  new RestampedBody(source, { at: 2, from: "old", to: "new" }).read();

  assert.equal(bytes.toString(), "a:old");
});
