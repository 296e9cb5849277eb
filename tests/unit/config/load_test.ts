import assert from "node:assert/strict";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { isInlinePolicy } from "../../../src/api/resources/gateway_policy_schema.ts";
import { formatDiagnostic } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { loadConfig } from "../../../src/config/load.ts";

const shortForm = `gateways:
  default: { port: 3000 }
routes:
- name: mcp
  gateways: [default]
  matches:
  - path: { value: /mcp }
  backends:
  - { host: "127.0.0.1:9000", weight: 2 }
  policies:
    timeouts: { request: 10s }
`;

function loadText(text: string, environment = {}) {
  return loadConfig([{ name: "gateway.yaml", text }], environment, schemasOf());
}

Deno.test("loadConfig reports the problems of all items at once", () => {
  const { diagnostics } = loadText(`gateways:
  default: { port: 0 }
routes:
- backends: [{ host: nowhere }]
- hostnames: [UPPER]
`);

  assert.deepEqual(diagnostics.map(({ path }) => path), [
    "gateways.default.port",
    "routes[0].backends[0].host",
    "routes[1].hostnames[0]",
  ]);
});

Deno.test("loadConfig sorts diagnostics by file and line", () => {
  const { diagnostics } = loadConfig(
    [
      { name: "b.yaml", text: "routes: 1\n" },
      { name: "a.yaml", text: "gateways: 1\n" },
    ],
    {},
    schemasOf(),
  );

  assert.deepEqual(diagnostics.map(({ file }) => file), ["b.yaml", "a.yaml"]);
});

Deno.test("loadConfig merges the sections of several files", () => {
  const { resources, diagnostics } = loadConfig(
    [
      {
        name: "a.yaml",
        text:
          "gateways:\n  one: { port: 3000 }\nroutes:\n- backends: [{ host: 'a:1' }]\n",
      },
      {
        name: "b.yaml",
        text:
          "gateways:\n  two: { port: 3001 }\nroutes:\n- backends: [{ host: 'b:1' }]\n",
      },
    ],
    {},
    schemasOf(),
  );

  assert.deepEqual(diagnostics, []);
  assert.deepEqual(resources.httpRoutes.map(({ metadata }) => metadata.name), [
    "route0",
    "route1",
  ]);
  assert.deepEqual(
    resources.httpRoutes[0]?.spec.parentRefs.map(({ name }) => name),
    ["one", "two"],
  );
});

Deno.test("loadConfig annotates inline policies", () => {
  const [policy] = loadText(shortForm).resources.gatewayPolicies;

  assert.ok(policy !== undefined && isInlinePolicy(policy));
});

Deno.test("loadConfig resolves paths relative to the file", () => {
  const { files } = loadConfig(
    [{
      name: "conf/gateway.yaml",
      text:
        "gateways:\n  a: { port: 1, protocol: HTTPS, tls: { cert: a.crt, key: /etc/a.key } }\n",
    }],
    {},
    schemasOf(),
  );

  assert.deepEqual(files, ["conf/a.crt", "/etc/a.key"]);
});

for (
  const { path, place } of [
    {
      path: ["spec", "rules", 0, "matches", 0, "path", "value"],
      place: "7:20 routes[0].matches[0].path.value",
    },
    {
      path: ["spec", "rules", 0, "backendRefs", 0, "weight"],
      place: "9:39 routes[0].backends[0].weight",
    },
    {
      path: ["spec", "rules", 0, "backendRefs", 0, "name"],
      place: "9:13 routes[0].backends[0].host",
    },
    {
      path: ["spec", "parentRefs", 0, "name"],
      place: "5:14 routes[0].gateways[0]",
    },
    { path: ["metadata", "name"], place: "4:9 routes[0].name" },
  ]
) {
  Deno.test(`LoadedConfig diagnoses ${path.join(".")} of a route at its place in the short form`, () => {
    const found = loadText(shortForm).diagnose("HTTPRoute/default/mcp", {
      path,
      at: "value",
      message: "is wrong",
    });

    assert.equal(`${found.line}:${found.column} ${found.path}`, place);
  });
}

Deno.test("LoadedConfig diagnoses a problem of an inline policy at its source", () => {
  const diagnostic = loadText(shortForm).diagnose(
    "GatewayPolicy/default/mcp/policies",
    {
      path: ["spec", "traffic", "timeouts"],
      at: "key",
      message: "not supported by this version",
    },
  );

  assert.equal(
    formatDiagnostic(diagnostic),
    "gateway.yaml:11:5: error: routes[0].policies.timeouts: not supported by this version",
  );
});

Deno.test("LoadedConfig diagnoses a part of a Kubernetes resource at its source", () => {
  const loaded = loadText(`apiVersion: policy.gateway.internal/v1alpha1
kind: GatewayBackend
metadata: { name: tools }
spec:
  static:
    host: tools.example.com
    port: 443
`);

  const found = loaded.diagnose("GatewayBackend/default/tools", {
    path: ["spec", "static", "port"],
    at: "value",
    message: "is wrong",
  });

  assert.equal(
    `${found.line}:${found.column} ${found.path}`,
    "7:11 spec.static.port",
  );
});

Deno.test("loadConfig does not show values of environment variables in diagnostics", () => {
  const { diagnostics } = loadText(
    "gateways:\n  default: { port: '${SECRET}' }\n",
    {
      SECRET: "hunter2",
    },
  );

  assert.deepEqual(diagnostics.map(formatDiagnostic), [
    "gateway.yaml:2:20: error: gateways.default.port: expected a number, got the value of ${SECRET}",
  ]);
});

Deno.test("loadConfig reports the strings from environment variables, which may be secret", () => {
  const text = `
gateways: { default: { port: 3000 } }
routes:
- name: all
  policies:
    directResponse: { status: 200, body: "\${SECRET} \${MISSING:-none}" }
`;

  const { resources } = loadText(text, { SECRET: "s3cret", OTHER: "o" });

  assert.deepEqual(resources.environment, ["s3cret"]);
});

Deno.test("loadConfig keeps the structure of a document whatever environment variables contain", () => {
  const { resources, diagnostics } = loadText(
    shortForm.replace("{ value: /mcp }", "\n      value: ${P}"),
    { P: "/a, b: [c]" },
  );

  assert.doesNotMatch(JSON.stringify(resources.httpRoutes), /\/a/);
  assert.deepEqual(diagnostics.map(({ path }) => path), [
    "routes[0].matches[0].path.value",
  ]);
});

Deno.test("loadConfig reports where each duplicate key was first defined", () => {
  const { diagnostics } = loadText(`gateways: { default: { port: 3000 } }
routes:
- name: a
  name: b
- name: c
  hostnames: [a.example]
  name: d
  name: e
`);

  assert.deepEqual(diagnostics.map(({ line, message }) => [line, message]), [
    [4, 'duplicate key "name"; first defined in line 3'],
    [7, 'duplicate key "name"; first defined in line 5'],
    [8, 'duplicate key "name"; first defined in line 5'],
  ]);
});

Deno.test("loadConfig has no limit on values of a document without aliases", () => {
  const { diagnostics } = loadText(`unknown: [${"0, ".repeat(210_000)}]`);

  assert.doesNotMatch(
    diagnostics.map(({ message }) => message).join(),
    /too large/,
  );
});
