import assert from "node:assert/strict";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { formatDiagnostics } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { fc } from "../../harness/parsers/properties.ts";

const good = new URL("../../fixtures/config/good/", import.meta.url);
const texts = [...Deno.readDirSync(good)]
  .filter(({ name }) => name.endsWith(".yaml"))
  .map(({ name }) => Deno.readTextFileSync(new URL(name, good)))
  .toSorted();

/** Loads any text and checks the invariants of all results. */
function loadAny(text: string): void {
  const source = { name: "fuzz.yaml", text };
  const { diagnostics, resources } = loadConfig([source], {
    NAME: "tools",
    PORT: "3000",
  }, schemasOf());

  const lines = text.split("\n").length;
  for (const { line, column, message } of diagnostics) {
    assert.ok(
      line >= 1 && line <= lines + 1 && column >= 1,
      `place ${line}:${column}`,
    );
    assert.ok(message.length > 0);
  }
  formatDiagnostics(diagnostics, [source]);
  structuredClone(resources);
}

Deno.test("loadConfig never throws on arbitrary text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 400 }), loadAny),
    { numRuns: 500 },
  );
});

Deno.test("loadConfig never throws on arbitrary JSON", () => {
  fc.assert(fc.property(fc.json({ maxDepth: 6 }), loadAny), { numRuns: 500 });
});

Deno.test("loadConfig never throws on a valid file with one part replaced", () => {
  const fragments = [
    "",
    "null",
    "[]",
    "{}",
    "- ",
    ": ",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "|\n",
    "\t",
    "${",
    "'",
    "\0",
  ];
  const edit = fc.record({
    text: fc.constantFrom(...texts),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(40),
    fragment: fc.oneof(
      fc.constantFrom(...fragments),
      fc.string({ maxLength: 10 }),
    ),
  });
  fc.assert(
    fc.property(edit, ({ text, at, length, fragment }) => {
      const start = Math.floor(at * text.length);
      loadAny(text.slice(0, start) + fragment + text.slice(start + length));
    }),
    { numRuns: 500 },
  );
});

Deno.test("loadConfig never throws on sections of arbitrary shape", () => {
  const sections = [
    "config",
    "gateways",
    "backends",
    "routes",
    "policies",
    "ui",
    "kind",
    "spec",
  ];
  const value = fc.jsonValue({ maxDepth: 4 });
  const file = fc.dictionary(
    fc.constantFrom(...sections),
    fc.oneof(value, fc.array(value)),
  );
  fc.assert(fc.property(file, (shape) => loadAny(JSON.stringify(shape))), {
    numRuns: 500,
  });
});

for (
  const [name, text] of [
    ["ten thousand brackets", "[".repeat(10_000)],
    ["ten thousand levels of mappings", "{a: ".repeat(10_000)],
    ["an alias to itself", "routes: &a [*a]"],
    ["a merge of itself", "gateways: &a\n  <<: *a\n  b: 1"],
    ["a key named __proto__", "__proto__: { polluted: true }"],
    ["keys that are mappings", "? { a: 1 }\n: 2"],
    ["many documents", "---\n".repeat(1_000)],
    ["a byte order mark", "\ufeffgateways: {}"],
    ["not a number", "gateways: { a: { port: .nan } }"],
  ] as const
) {
  Deno.test(`loadConfig never throws on ${name}`, () => loadAny(text));
}

Deno.test("loadConfig rejects ten thousand brackets with a diagnostic", () => {
  const source = { name: "deep.yaml", text: "[".repeat(10_000) };

  const { diagnostics } = loadConfig([source], {}, schemasOf());

  assert.ok(diagnostics.some(({ severity }) => severity === "error"));
});
