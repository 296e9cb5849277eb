import assert from "node:assert/strict";
import { configurationChanges } from "../../../src/gateway/configuration_changes.ts";

const route = {
  key: "default/a",
  hostnames: ["a.example"],
  rules: [{ name: "one", timeout: "1s" }, { name: "two" }],
  matches: [{ path: "/a" }, { path: "/b" }],
};

const cases = [
  { what: "nothing", after: route, lines: [] },
  {
    what: "an item before others",
    after: { ...route, matches: [{ path: "/0" }, ...route.matches] },
    lines: ['    + matches: {"path":"/0"}'],
  },
  {
    what: "a field of an item without a name",
    after: { ...route, matches: [{ path: "/a" }, { path: "/c" }] },
    lines: ['    - matches.path: "/b"', '    + matches.path: "/c"'],
  },
  {
    what: "a field of an item with a name, and the order",
    after: {
      ...route,
      rules: [{ name: "two" }, { name: "one", timeout: "2s" }],
    },
    lines: [
      '    - rules: ["one","two"]',
      '    + rules: ["two","one"]',
      '    - rules.one.timeout: "1s"',
      '    + rules.one.timeout: "2s"',
    ],
  },
  {
    what: "the order of items without names",
    after: { ...route, matches: route.matches.toReversed() },
    lines: [
      '    - matches: [{"path":"/a"},{"path":"/b"}]',
      '    + matches: [{"path":"/b"},{"path":"/a"}]',
    ],
  },
  {
    what: "an item twice",
    after: { ...route, hostnames: ["a.example", "a.example"] },
    lines: ['    + hostnames: "a.example"'],
  },
];

for (const { what, after, lines } of cases) {
  Deno.test(`a change of ${what} is shown without an index`, () => {
    const changes = configurationChanges(
      { routes: [route] },
      { routes: [after] },
    );

    assert.deepEqual(
      changes,
      lines.length === 0 ? [] : ["~ routes default/a", ...lines],
    );
  });
}

Deno.test("added and removed items are named", () => {
  const changes = configurationChanges(
    { config: { a: 1 }, routes: [route], backends: [{ name: "x" }] },
    { config: { a: 2 }, routes: [], backends: [{ name: "y" }, { name: "x" }] },
  );

  assert.deepEqual(changes, [
    "~ config",
    "    - a: 1",
    "    + a: 2",
    "- routes default/a",
    "+ backends y",
  ]);
});
