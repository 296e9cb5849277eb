import assert from "node:assert/strict";
import { textSource } from "../../../../src/config/configuration_source.ts";
import { describeConfiguration } from "../../../../src/gateway/candidate/candidate.ts";
import { configurationChanges } from "../../../../src/gateway/editing/configuration_changes.ts";

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

/** Returns what differs between two configurations with gateways `one` and `two`. */
async function changesBetween(before: string, after: string) {
  const describe = (text: string) =>
    describeConfiguration(
      textSource(
        `gateways: { one: { port: 3000 }, two: { port: 3001 } }\n${text}`,
        "gateway.yaml",
      ),
      {},
    );
  return configurationChanges(await describe(before), await describe(after));
}

function limited(requests: number): string {
  return `routes:
- name: a
  backends: [{ host: "localhost:1" }]
  policies: { rateLimit: { local: [{ requests: ${requests}, unit: Hours }] } }
`;
}

Deno.test("a change of a policy of a route is shown once, at the route", async () => {
  assert.deepEqual(await changesBetween(limited(5), limited(9)), [
    "~ routes default/a/0",
    "    - policies.rateLimit.local.requests: 5",
    "    + policies.rateLimit.local.requests: 9",
  ]);
});

Deno.test("a change of a policy of its own is shown once, and not at the routes that it concerns", async () => {
  const policy = (tokens: number) =>
    `policies:
- name: budget
  targetRefs: [{ kind: Gateway, name: one }]
  traffic: { rateLimit: { local: [{ tokens: ${tokens}, unit: Days }] } }
`;

  assert.deepEqual(
    await changesBetween(
      limited(5) + policy(10),
      limited(5) + policy(20),
    ),
    [
      "~ policies default/budget",
      "    - traffic.rateLimit.local.tokens: 10",
      "    + traffic.rateLimit.local.tokens: 20",
    ],
  );
});

Deno.test("what is added is shown without the defaults that nobody wrote", async () => {
  const changes = await changesBetween(
    limited(5),
    limited(5).replace(
      "rateLimit:",
      "authorization: { policy: { matchExpressions: [\"request.method == 'GET'\"] } }, rateLimit:",
    ),
  );

  assert.deepEqual(changes, [
    "~ routes default/a/0",
    '    + policies.authorization: {"policy":{"matchExpressions":["request.method == \'GET\'"]}}',
  ]);
});

Deno.test("a route that leaves one of its gateways is a change", async () => {
  const route = (gateways: string) =>
    `routes:
- { name: a, gateways: ${gateways}, filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { set: [{ name: x, value: y }] } }], policies: { directResponse: { status: 200 } } }
`;

  const changes = await changesBetween(route("[one, two]"), route("[two]"));

  assert.deepEqual(changes, [
    "~ routes default/a/0",
    '    - listeners: "default/one/default"',
  ]);
});

Deno.test("a route that is added is shown with its policies", async () => {
  const changes = await changesBetween(
    limited(5),
    `${
      limited(5)
    }- { name: b, policies: { directResponse: { status: 204 } } }\n`,
  );

  assert.deepEqual(changes, [
    "+ routes default/b/0",
    '    + policies.directResponse: {"status":204}',
  ]);
});
