import assert from "node:assert/strict";
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
} from "yaml";
import { runToEnd } from "../../../src/base/slices.ts";
import { parseYaml } from "../../../src/config/yaml/yaml.ts";
import { compose } from "../../../src/base/yaml_library.ts";
import { createRandom } from "../../harness/clients/mutations.ts";
import type { YamlNode } from "../../../src/config/yaml/yaml_node.ts";

/** Values and places of a node as the package finds them when it composes the document in one call. */
function expectedOf(node: unknown): unknown {
  if (isAlias(node)) return { alias: node.source, start: node.range?.[0] };
  if (isScalar(node)) {
    return { scalar: shown(node.value), start: node.range?.[0] };
  }
  if (isSeq(node)) {
    return { list: node.items.map(expectedOf), start: node.range?.[0] };
  }
  if (isMap(node)) {
    return {
      map: node.items.map(({ key, value }) => [
        expectedOf(key),
        expectedOf(value ?? null),
      ]),
      start: node.range?.[0],
    };
  }
  return null;
}

/** The package has symbols for keys such as `<<`. */
function shown(value: unknown): unknown {
  return typeof value === "symbol" ? String(value) : value;
}

/** The same of a node of ours. */
function actualOf(node: YamlNode | undefined): unknown {
  switch (node?.kind) {
    case undefined:
      return null;
    case "alias":
      return { alias: node.name, start: node.start };
    case "scalar":
      return { scalar: shown(node.value), start: node.start };
    case "list":
      return { list: node.items.map(actualOf), start: node.start };
    case "map":
      return {
        map: node.entries.map(({ key, keyStart, value }) => [
          { scalar: key, start: keyStart },
          actualOf(value),
        ]),
        start: node.start,
      };
  }
}

/** 50 items, more than are composed in one step. */
function items(itemOf: (number: number) => string): string {
  return Array(50).keys().map(itemOf).toArray().join("\n");
}

const cases: Readonly<Record<string, string>> = {
  "a list": items((number) => `- ${number}`),
  "a list in a mapping": `before: 1\nroutes:\n${
    items((number) => `- name: r${number}\n  hosts: [a, "b"]`)
  }\nafter: 2\n`,
  "lists that are indented, with comments and blank lines":
    `a:\n  b:\n    # first\n${
      items((number) => `    - x: ${number} # note\n\n    # next`)
    }\n  c:\n  d: e\n`,
  "empty items and a comment at the end": `a:\n${
    items((number) => number % 2 ? "-" : "- b")
  }\n# end\nc: null\n`,
  "lists of lists": `a:\n${
    items((number) => `- - ${number}\n  - [1, {b: c}]`)
  }\n`,
  "anchors, aliases and merged mappings": `base: &base {a: 1}\nlist: &list\n${
    items((number) => number === 0 ? "- &first {<<: *base, b: 2}" : "- *first")
  }\nagain: *list\n`,
  "block scalars": `a:\n${
    items((number) => `- |\n  line ${number}\n  more`)
  }\nb: >-\n  folded\n  text\n`,
  "several documents": `a:\n${items((number) => `- ${number}`)}\n---\nb:\n${
    items((number) => `- ${number}`)
  }\n...\n--- c\n`,
  "JSON on one line": `{"a":[${
    Array(50).keys().map((number) => `{"b":${number},"c":[1,2]}`).toArray()
      .join()
  }],"d":{"e":[${Array(50).keys().toArray().join(", ")}]}}`,
  "JSON on many lines": JSON.stringify(
    { a: Array(50).keys().map((b) => ({ b, c: ["x"] })).toArray(), d: 1 },
    null,
    2,
  ),
  "brackets with comments": `a: [\n${
    items((number) => `  b${number}, # note`)
  }\n  last\n]\nc: d\n`,
  "tags": `a: !!seq\n${items((number) => `- !!str ${number}`)}\n`,
  "a directive": `%YAML 1.1\n---\na:\n${items(() => "- yes")}\n`,
};

for (const [name, text] of Object.entries(cases)) {
  Deno.test(`long lists are composed as in one call: ${name}`, () => {
    const expected = parseAllDocuments(text, { merge: true });
    const { roots, diagnostics } = runToEnd(
      parseYaml({ name: "a.yaml", text }),
    );

    assert.deepEqual(diagnostics, []);
    assert.deepEqual(
      roots.map(actualOf),
      Array.from(expected, ({ contents }) => expectedOf(contents)),
    );
  });
}

for (
  const [name, text, message] of [
    [
      "a missing comma",
      `{"a": [\n${
        items((number) => `"${number}"${number === 15 ? "" : ","}`)
      }\n0]}`,
      /^18:1 /,
    ],
    [
      "two commas",
      `a: [\n${
        items((number) => ` ${number}${number === 15 ? ",," : ","}`)
      }\n 0]`,
      /^17:\d+ /,
    ],
    [
      "an item that is not indented enough",
      `a:\n${
        items((number) => number === 40 ? "- b: 1\n c: 2" : `- b: ${number}`)
      }`,
      /^43:\d+ /,
    ],
    [
      "a repeated key in an item",
      `a:\n${items((number) => `- b: 1\n  ${number === 40 ? "b" : "c"}: 2`)}`,
      /^83:3 duplicate key "b"; first defined in line 82$/,
    ],
    [
      "a repeated key around the list",
      `a:\n${items((number) => `- ${number}`)}\na: 1\n`,
      /^52:1 duplicate key "a"; first defined in line 1$/,
    ],
  ] as const
) {
  Deno.test(`an error in or beside a long list is reported at its place: ${name}`, () => {
    const { diagnostics } = runToEnd(parseYaml({ name: "a.yaml", text }));
    const [first] = diagnostics.map(({ line, column, message }) =>
      `${line}:${column} ${message}`
    );

    assert.match(first ?? "", message);
  });
}

/** The errors of documents that are reported: the first of each, and duplicate keys. */
function errorsOf(documents: Iterable<Document>) {
  return Array.from(
    documents,
    ({ errors, warnings }) =>
      [...errors, ...warnings]
        .filter(({ code }, index) => index === 0 || code === "DUPLICATE_KEY")
        .map(({ code, pos, message }) => ({ code, pos, message })),
  );
}

Deno.test("errors in or beside long lists are those of one call, whatever is wrong", () => {
  const next = createRandom(4711);
  const random = (count: number) => Math.floor(next() * count);
  const characters = "\n\n  ::,,-[]{}\"'#&*!|>%@`ab\t";
  let faulty = 0;
  for (let run = 0; run < 300; run++) {
    let text = pick(Object.values(cases));
    for (let edits = 1 + random(2); edits > 0; edits--) {
      const at = random(text.length);
      const insert = pick([...characters, "", "- x: 1\n  x: 2\n"]);
      text = text.slice(0, at) + insert + text.slice(at + random(3));
    }
    const expected = errorsOf(
      parseAllDocuments(text, { merge: true, prettyErrors: false }),
    );
    const actual = errorsOf(runToEnd(compose(text, new LineCounter())));

    assert.deepEqual({ text, errors: actual }, { text, errors: expected });
    if (expected.flat().length > 0) faulty++;
  }
  assert(faulty > 60);

  function pick<Item>(items: readonly Item[]): Item {
    const item = items[random(items.length)];
    assert(item !== undefined);
    return item;
  }
});
