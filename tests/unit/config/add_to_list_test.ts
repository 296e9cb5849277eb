import assert from "node:assert/strict";
import { addToList, EditError } from "../../../src/config/edit/add_to_list.ts";

const cases = [
  {
    what: "a list in lines, after comments and before others",
    text: `# all routes
routes:
  - name: a   # first
    matches:
      - model: "x"   # last line

  # nothing more
gateways:
  default: { port: 3000 }
`,
    path: ["routes"],
    item: { name: "b", backends: [{ host: "127.0.0.1:1" }] },
    edited: `# all routes
routes:
  - name: a   # first
    matches:
      - model: "x"   # last line
  - name: b
    backends:
      - host: 127.0.0.1:1

  # nothing more
gateways:
  default: { port: 3000 }
`,
  },
  {
    what: "a list whose dashes are not indented",
    text: "routes:\n- name: a\n",
    path: ["routes"],
    item: { name: "b" },
    edited: "routes:\n- name: a\n- name: b\n",
  },
  {
    what: "a list in brackets",
    text: "routes: [{ name: a }] # all\n",
    path: ["routes"],
    item: { name: "b" },
    edited: "routes: [{ name: a }, { name: b }] # all\n",
  },
  {
    what: "a list in brackets over several lines",
    text: "routes: [\n  { name: a }, # one\n]\n",
    path: ["routes"],
    item: { name: "b" },
  },
  {
    what: "an empty list",
    text: "routes: []\n",
    path: ["routes"],
    item: { name: "b" },
    edited: "routes: [{ name: b }]\n",
  },
  {
    what: "a key without a value",
    text: "routes:\ngateways: { default: { port: 1 } }\n",
    path: ["routes"],
    item: { name: "b" },
  },
  {
    what: "an empty file",
    text: "",
    path: ["routes"],
    item: { name: "b" },
    edited: "routes:\n  - name: b\n",
  },
  {
    what: "a map that lacks the list",
    text: "routes:\n  - name: a\n    policies:\n      cors: {}\n  - name: c\n",
    path: ["routes", 0, "policies", "rateLimit", "local"],
    item: { requests: 1 },
    edited:
      "routes:\n  - name: a\n    policies:\n      cors: {}\n      rateLimit:\n        local:\n          - requests: 1\n  - name: c\n",
  },
  {
    what: "a map in braces that lacks the list",
    text: "routes:\n  - { name: a, policies: { cors: {} } }\n",
    path: ["routes", 0, "policies", "rateLimit", "local"],
    item: { requests: 1 },
    edited:
      "routes:\n  - { name: a, policies: { cors: {}, rateLimit: { local: [ { requests: 1 } ] } } }\n",
  },
  {
    what: "a list after a text in lines",
    text: "routes:\n  - body: |\n      one\n      two\n\n# end\n",
    path: ["routes"],
    item: { name: "b" },
    edited:
      "routes:\n  - body: |\n      one\n      two\n  - name: b\n\n# end\n",
  },
  {
    what: "a list that an anchor names",
    text: "shared: &all\n  - name: a\nroutes: *all\n",
    path: ["routes"],
    item: { name: "b" },
  },
];

for (const { what, text, path, item, edited } of cases) {
  Deno.test(`an item is added to ${what}`, () => {
    if (what === "a list that an anchor names") {
      assert.throws(() => addToList(text, path, item), EditError);
      return;
    }

    const result = addToList(text, path, item);

    if (edited !== undefined) assert.equal(result, edited);
    const kept = text.match(/#.*/g) ?? [];
    for (const comment of kept) assert(result.includes(comment), comment);
    assert.match(result, /name: b|requests: 1/);
  });
}

const wrong = [
  { text: "routes: 1\n", error: /"routes" is neither a list nor a map/ },
  { text: "routes: { a: 1 }\n", error: /"routes" is not a list/ },
  { text: "- a\n", error: /the file is not a map/ },
  { text: "a: [\n", error: /not valid YAML/ },
];

for (const { text, error } of wrong) {
  Deno.test(`nothing is added to ${JSON.stringify(text)}`, () => {
    assert.throws(() => addToList(text, ["routes"], {}), error);
  });
}
