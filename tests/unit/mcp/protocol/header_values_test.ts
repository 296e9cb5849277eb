import assert from "node:assert/strict";
import fc from "fast-check";
import {
  decodeHeaderValue,
  encodeHeaderValue,
  findWrongParameter,
  readParameterHeaders,
} from "../../../../src/mcp/protocol/header_values.ts";
import { isFieldValue } from "../../../../src/http/field_syntax.ts";

Deno.test("every value fits into a header, and comes out as it was", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), (value) => {
    const encoded = encodeHeaderValue(value);
    assert(isFieldValue(encoded));
    assert.equal(decodeHeaderValue(encoded), value);
  }));
  assert.equal(encodeHeaderValue("plain value"), "plain value");
  assert.match(encodeHeaderValue("=?base64?YQ==?="), /^=\?base64\?PT9i/);
});

Deno.test("invalid Base64 is no value", () => {
  for (const value of ["=?base64?YQ?=", "=?base64?Y Q=?=", "=?base64?/w==?="]) {
    assert.equal(decodeHeaderValue(value), undefined);
  }
});

function header(name: unknown, type = "string") {
  return {
    type: "object",
    properties: { a: { type, "x-mcp-header": name } },
  };
}

Deno.test("a schema says which arguments are in headers", () => {
  const nested = { type: "object", properties: { b: header("B", "integer") } };
  assert.deepEqual(readParameterHeaders(header("Region")), [
    { header: "mcp-param-region", path: ["a"], isInteger: false },
  ]);
  assert.deepEqual(readParameterHeaders(nested), [
    { header: "mcp-param-b", path: ["b", "a"], isInteger: true },
  ]);
  assert.deepEqual(readParameterHeaders({ default: header("x y") }), []);
});

Deno.test("a schema with headers at other places, or invalid ones, is invalid", () => {
  for (
    const schema of [
      header("x y"),
      header(""),
      header(1),
      header("A", "object"),
      header("A", "number"),
      { type: "object", items: header("A") },
      { type: "object", oneOf: [header("A")] },
      { type: "object", "x-mcp-header": "A" },
      {
        type: "object",
        properties: {
          a: { type: "string", "x-mcp-header": "A" },
          b: { type: "string", "x-mcp-header": "a" },
        },
      },
    ]
  ) assert.equal(readParameterHeaders(schema), undefined);
});

Deno.test("a header that is missing, or differs from the argument, is wrong", () => {
  const declared = readParameterHeaders(header("N", "integer")) ?? [];
  const wrong = (value: unknown, given: string | undefined) =>
    findWrongParameter(declared, { a: value }, () => given);

  assert.equal(wrong(42, "42"), undefined);
  assert.equal(wrong(42, "42.0"), undefined);
  assert.equal(wrong(undefined, "42"), undefined);
  assert.equal(wrong(42, undefined), "mcp-param-n");
  assert.equal(wrong(42, "43"), "mcp-param-n");
});
