import assert from "node:assert/strict";
import { placeAt } from "../../../admin/ui/page/kit/yaml_place.ts";

const cases = [
  { text: "ro|", path: [], word: "ro" },
  {
    text: "gateways:\n  default:\n    po|",
    path: ["gateways", "default"],
    word: "po",
  },
  { text: "routes:\n  - name: a\n    ma|", path: ["routes", "*"], word: "ma" },
  { text: "routes:\n- name: a\n  ma|", path: ["routes", "*"], word: "ma" },
  { text: "routes:\n- |", path: ["routes", "*"], word: "" },
  {
    text: "routes:\n  - policies:\n      cors: {}\n      # why\n\n      ra|",
    path: ["routes", "*", "policies"],
    word: "ra",
  },
  {
    text: "routes:\n  - backends:\n      - llm: { provider: Op|",
    path: ["routes", "*", "backends", "*", "llm"],
    key: "provider",
    word: "Op",
  },
  {
    text: "routes:\n  - backends:\n      - llm: { provider: OpenAI, ho|",
    path: ["routes", "*", "backends", "*", "llm"],
    word: "ho",
  },
  {
    text: "routes:\n  - matches: [{ path: { type: |",
    path: ["routes", "*", "matches", "*", "path"],
    key: "type",
    word: "",
  },
  {
    text:
      'routes:\n  - matches: [{ path: { type: Exact, value: "/a" } }, { me|',
    path: ["routes", "*", "matches", "*"],
    word: "me",
  },
  { text: "config:\n  logging: { level: debug }\nro|", path: [], word: "ro" },
  {
    text: 'config:\n  "adminAddr": 127|',
    path: ["config"],
    key: "adminAddr",
    word: "127",
  },
  {
    text: "a:\n  rules:\n    - jwt.su|",
    path: ["a", "rules", "*"],
    word: "jwt.su",
  },
];

for (const { text, ...place } of cases) {
  Deno.test(`the place in ${JSON.stringify(text)} is known`, () => {
    const offset = text.indexOf("|");

    const found = placeAt(text.replace("|", ""), offset);

    assert.deepEqual({ ...found }, place);
  });
}

Deno.test("a long document is read in time", () => {
  const text = "routes:\n" + "  - name: a\n    hostnames: [b]\n".repeat(20_000);

  assert.deepEqual(placeAt(text, text.length), { path: [], word: "" });
  assert.deepEqual(placeAt(`${text}    `, text.length + 4), {
    path: ["routes", "*"],
    word: "",
  });
});
