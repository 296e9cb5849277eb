import assert from "node:assert/strict";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { formatDiagnostic } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { loadConfig } from "../../../src/config/load.ts";

const gateways = "gateways: { default: { port: 3000 } }\n";

function reportOn(text: string): readonly string[] {
  const { diagnostics } = loadConfig(
    [{ name: "gateway.yaml", text }],
    {},
    schemasOf(),
  );
  return diagnostics.map(formatDiagnostic);
}

function withPath(type: string, value: string): string {
  return `${gateways}routes:
- matches: [{ path: { type: ${type}, value: "${value}" } }]
  backends: [{ host: "a:1" }]
`;
}

for (
  const [type, value, instead] of [
    ["PathPrefix", "/v1/*", "/v1"],
    ["PathPrefix", "/v1/**", "/v1"],
    ["Exact", "/v1/*", "/v1"],
    ["PathPrefix", "/*", "/"],
  ] as const
) {
  Deno.test(`a path with a wildcard gets a warning: ${type} ${value}`, () => {
    const text = withPath(type, value);
    const column = text.split("\n")[2]?.indexOf(`"${value}"`) ?? 0;
    assert.deepEqual(reportOn(text), [
      `gateway.yaml:3:${
        column + 1
      }: warning: routes[0].matches[0].path.value: "*" in a path is not a wildcard; to match all paths below, write { type: PathPrefix, value: ${instead} }`,
    ]);
  });
}

for (
  const [type, value] of [
    ["RegularExpression", "/v1/*"],
    ["PathPrefix", "/v1*"],
    ["PathPrefix", "/a/*/b"],
  ] as const
) {
  Deno.test(`a path with a star elsewhere gets no warning: ${type} ${value}`, () => {
    assert.deepEqual(reportOn(withPath(type, value)), []);
  });
}

Deno.test("a gateway without routes gets a warning", () => {
  assert.deepEqual(reportOn(gateways), [
    'gateway.yaml:1:13: warning: gateways.default: no routes are configured, so every request gets 404; add "routes"',
  ]);
});

Deno.test("a gateway with policies that can respond needs no routes", () => {
  const policy = `policies:
- name: closed
  targetRefs: [{ kind: Gateway, name: default }]
  traffic: { directResponse: { status: 503 } }
`;
  assert.deepEqual(reportOn(gateways + policy), []);
});

Deno.test("lint reports nothing while there are errors", () => {
  assert.deepEqual(reportOn(`${gateways}route: []\n`), [
    'gateway.yaml:2:1: error: route: unknown field; did you mean "routes"?',
  ]);
});
