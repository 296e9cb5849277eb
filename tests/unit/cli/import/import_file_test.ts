import assert from "node:assert/strict";
import { importText } from "../../../../cli/import/import_file.ts";
import { textSource } from "../../../../src/config/configuration_source.ts";
import { parseAllYaml } from "../../../../src/base/yaml_library.ts";
import { validateConfiguration } from "../../../../src/gateway/candidate/candidate.ts";

interface Route {
  readonly name: string;
  readonly gateways: readonly string[];
  readonly hostnames?: readonly string[];
  readonly matches?: readonly unknown[];
  readonly policies?: Readonly<Record<string, unknown>>;
  readonly backends?: readonly unknown[];
  readonly filters?: readonly unknown[];
}

interface Imported {
  readonly config?: unknown;
  readonly backends?: readonly unknown[];
  readonly gateways: Readonly<Record<string, unknown>>;
  readonly routes: readonly Route[];
  /** Such as `3:5 oidc: no counterpart`. */
  readonly notes: readonly string[];
}

const environment = {
  OPENAI_API_KEY: "sk-openai",
  ANTHROPIC_API_KEY: "sk-anthropic",
  PROJECT: "project",
  MCP_OLD_ONE_KEY_7C35: "k-1",
};

/** Imports a text; the result must load. */
async function imported(text: string): Promise<Imported> {
  const { text: yaml, notes } = await importText("config.yaml", text);
  const { diagnostics } = await validateConfiguration(
    textSource(yaml),
    environment,
  );
  assert.deepEqual(diagnostics, []);
  const [document] = parseAllYaml(yaml) as [Imported];
  return {
    ...document,
    notes: notes.map(({ line, column, message }) =>
      `${line}:${column} ${message}`
    ),
  };
}

/** Returns the route that responds with 503 for lack of something. */
function closedFor(what: string) {
  return {
    directResponse: { status: 503, body: `not imported: ${what}` },
  };
}

Deno.test("import takes over a protected MCP server with its limits and rules", async () => {
  const { gateways, routes: [route], notes } = await imported(`
binds:
- port: 3000
  listeners:
  - routes:
    - policies:
        localRateLimit:
        - { maxTokens: 15, tokensPerFill: 10, fillInterval: 60s }
        cors: { allowOrigins: ["*"], exposeHeaders: [Mcp-Session-Id], maxAge: 600s }
        jwtAuth:
          mode: strict
          issuer: https://issuer.example/
          audiences: [test.example]
          jwks: { url: https://issuer.example/keys }
        mcpAuthorization:
          rules:
          - 'mcp.tool.name == "echo"'
          - 'jwt.sub == "anna" && mcp.tool.name == "add"'
      backends:
      - mcp: { targets: [{ name: a, mcp: { host: "http://localhost:3001/mcp" } }] }
`);

  const others = "(!has(mcp.tool) && !has(mcp.prompt) && !has(mcp.resource))";
  assert.deepEqual(notes, []);
  assert.deepEqual(gateways, { "port-3000": { port: 3000 } });
  assert.deepEqual(route, {
    name: "route",
    gateways: ["port-3000"],
    policies: {
      cors: {
        allowOrigins: ["*"],
        exposeHeaders: ["Mcp-Session-Id"],
        maxAge: 600,
      },
      jwtAuthentication: {
        mode: "Strict",
        providers: [{
          issuer: "https://issuer.example/",
          audiences: ["test.example"],
          jwks: { url: "https://issuer.example/keys" },
        }],
      },
      authorization: {
        policy: {
          matchExpressions: [
            `${others} || ((mcp.tool.name == "echo") || (jwt.sub == "anna" && mcp.tool.name == "add"))`,
          ],
        },
      },
      rateLimit: { local: [{ requests: 10, unit: "Minutes", burst: 5 }] },
    },
    backends: [{
      mcp: { servers: [{ name: "a", url: "http://localhost:3001/mcp" }] },
    }],
  });
});

Deno.test("import takes over matches, changes, time-outs and backends of a route", async () => {
  const { routes: [route], notes } = await imported(`
gateways: { default: { port: 8080 } }
routes:
- name: API v1
  hostnames: [api.example.org]
  matches:
  - path: { pathPrefix: /v1 }
    method: GET
    headers: [{ name: x-a, value: { exact: "1" } }]
    query: [{ name: q, value: { regex: "^a+$" } }]
  policies:
    timeout: { requestTimeout: 10s }
    retry: { attempts: 2, codes: [502, 503] }
    requestHeaderModifier: { set: { x-team: blue }, remove: [x-b] }
    transformations: { response: { set: { x-user: request.method } } }
    urlRewrite: { authority: { full: inner.example.org }, path: { prefix: /v2 } }
  backends:
  - { host: "127.0.0.1:8000", weight: 3 }
  - { host: "example.com:443", policies: { backendTLS: {} } }
`);

  assert.deepEqual(notes, []);
  assert.deepEqual(route, {
    name: "api-v1",
    gateways: ["default"],
    hostnames: ["api.example.org"],
    matches: [{
      path: { type: "PathPrefix", value: "/v1" },
      headers: [{ name: "x-a", value: "1" }],
      queryParams: [{ name: "q", type: "RegularExpression", value: "^a+$" }],
      method: "GET",
    }],
    timeouts: { request: "10s" },
    retry: { attempts: 2, codes: [502, 503] },
    policies: {
      transformation: {
        response: { set: [{ name: "x-user", value: "request.method" }] },
      },
      requestHeaderModifier: {
        set: [{ name: "x-team", value: "blue" }],
        remove: ["x-b"],
      },
      urlRewrite: {
        hostname: "inner.example.org",
        path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/v2" },
      },
    },
    backends: [
      { host: "127.0.0.1:8000", weight: 3 },
      { host: "example.com:443", tls: {} },
    ],
  });
});

Deno.test("import takes over LLM providers and models with keys of the environment", async () => {
  const { gateways, routes, notes } = await imported(`
llm:
  port: 4000
  models:
  - name: smart-model
    provider: openAI
    params: { model: gpt-4o-mini, apiKey: $OPENAI_API_KEY, baseUrl: "https://api.openai.com/v1" }
    matches: [{ headers: [{ name: x-tier, value: { exact: economy } }] }]
  - { name: 'gemini-*', provider: vertex, params: { vertexProject: $PROJECT, vertexRegion: global } }
gateways: { default: { port: 8080 } }
routes:
- backends:
  - ai: { name: o, hostOverride: "localhost:11434", provider: { openAI: { model: small } } }
- matches: [{ path: { pathPrefix: /anthropic } }]
  backends: [{ backend: claude }]
backends:
- name: claude
  ai: { provider: { anthropic: {} } }
  policies: { backendAuth: { key: $ANTHROPIC_API_KEY } }
`);

  assert.deepEqual(notes, []);
  assert.deepEqual(gateways["llm-gateway"], { port: 4000 });
  assert.deepEqual(routes.map(({ backends }) => backends?.[0]), [
    {
      llm: {
        provider: "OpenAI",
        model: "small",
        host: "localhost:11434",
        plainText: true,
      },
    },
    {
      llm: {
        provider: "Anthropic",
        credentials: { key: "${ANTHROPIC_API_KEY}" },
      },
    },
    {
      llm: {
        provider: "OpenAI",
        model: "gpt-4o-mini",
        host: "api.openai.com",
        basePath: "/v1",
        credentials: { key: "${OPENAI_API_KEY}" },
      },
    },
    { llm: { provider: "Vertex", region: "global", project: "${PROJECT}" } },
  ]);
  assert.deepEqual(routes[2]?.matches, [{
    headers: [{ name: "x-tier", value: "economy" }],
    model: "smart-model",
  }]);
});

Deno.test("import takes over a login of MCP clients, API keys and passwords", async () => {
  const { routes: [login, keys], notes } = await imported(`
mcp:
  port: 3000
  policies:
    mcpAuthentication:
      issuer: https://idp.example/realms/mcp
      audiences: [mcp_proxy]
      jwks: { url: "https://idp.example/realms/mcp/certs" }
      provider: { keycloak: {} }
      resourceMetadata: { resource: "http://localhost:3000/mcp", scopesSupported: [profile] }
  targets:
  - { name: docs, mcp: { host: "https://docs.example.org/mcp" } }
binds:
- port: 4000
  listeners:
  - policies: { apiKey: { mode: strict, keys: [{ key: k-0123456789, metadata: { team: x } }] } }
    routes:
    - name: keys
      policies:
        basicAuth: { htpasswd: "anna:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=", realm: r }
        authorization: { rules: ["apiKey.team == 'x'", { require: "request.method == 'POST'" }, { deny: "request.path == '/x'" }] }
      backends: [{ host: "localhost:1" }]
`);

  assert.deepEqual(notes, []);
  assert.deepEqual(keys?.policies?.["jwtAuthentication"], {
    mode: "Strict",
    providers: [{
      issuer: "https://idp.example/realms/mcp",
      audiences: ["mcp_proxy"],
      jwks: { url: "https://idp.example/realms/mcp/certs" },
    }],
    mcp: {
      provider: "Keycloak",
      resourceMetadata: {
        resource: "http://localhost:3000/mcp",
        scopesSupported: ["profile"],
      },
    },
  });
  assert.deepEqual(keys?.backends, [{
    mcp: { servers: [{ name: "docs", url: "https://docs.example.org/mcp" }] },
  }]);
  assert.deepEqual(login?.policies, {
    basicAuthentication: {
      mode: "Optional",
      realm: "r",
      users: ["anna:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk="],
    },
    apiKeyAuthentication: {
      mode: "Strict",
      keys: [{
        keyHash:
          "sha256:d13374f428d2270aec0aa2c4275fe2df9056d466c4cb71fa415a76b19229cb60",
        metadata: { team: "x" },
      }],
    },
    authorization: {
      policy: {
        matchExpressions: [
          "apiKey.team == 'x'",
          "request.method == 'POST'",
          "!(request.path == '/x')",
        ],
      },
    },
  });
});

Deno.test("import takes over a login of browsers", async () => {
  const { routes: [route], notes } = await imported(`
gateways: { default: { port: 8080 } }
routes:
- name: app
  policies:
    oidc:
      issuer: https://issuer.example/
      clientId: app
      clientSecret: \${OPENAI_API_KEY}
      redirectURI: https://app.example/callback
      scopes: [openid, email]
  backends: [{ host: "a:1" }]
`);

  assert.deepEqual(notes, []);
  assert.deepEqual(route?.policies, {
    oidc: {
      issuer: "https://issuer.example/",
      clientId: "app",
      clientSecret: "${OPENAI_API_KEY}",
      redirectUrl: "https://app.example/callback",
      scopes: ["email"],
    },
  });
});

Deno.test("import takes over an external authorizer, and closes routes whose authorizer decides by expressions", async () => {
  const { routes: [grpc, http, cached] } = await imported(`
gateways: { default: { port: 8080 } }
routes:
- name: grpc
  matches: [{ path: { exact: /a } }]
  policies:
    extAuthz:
      host: "authz:9000"
      protocol: { grpc: {} }
      includeRequestBody: { maxRequestBytes: 100 }
      failureMode: allow
  backends: [{ host: "a:1" }]
- name: http
  matches: [{ path: { exact: /b } }]
  policies:
    extAuthz:
      host: "authz:9001"
      protocol: { http: { includeResponseHeaders: [x-user] } }
      includeRequestHeaders: [cookie]
  backends: [{ host: "a:1" }]
- name: cached
  matches: [{ path: { exact: /c } }]
  policies:
    extAuthz: { host: "authz:9001", protocol: { grpc: {} }, cache: { key: "jwt.sub", ttl: 10s } }
  backends: [{ host: "a:1" }]
`);

  assert.deepEqual(grpc?.policies, {
    extAuthz: {
      grpc: { host: "authz:9000" },
      bodyToExtAuth: { maxRequestBytes: 100 },
      failureMode: "Open",
    },
  });
  assert.deepEqual(http?.policies, {
    extAuthz: {
      http: { host: "authz:9001" },
      headersToExtAuth: ["cookie"],
      headersToBackend: ["x-user"],
    },
  });
  assert.deepEqual(cached?.policies, closedFor("extAuthz"));
});

Deno.test("import takes over MCP servers of every kind, behind one endpoint", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/api.json`;
  const openapi = { openapi: "3.1.0", paths: { "/a": { get: {} } } };
  await Deno.writeTextFile(file, JSON.stringify(openapi));
  const { routes, notes } = await imported(
    `gateways: { default: { port: 8080 } }
mcp:
  prefixMode: always
  failureMode: failOpen
  targets:
  - { name: web, mcp: { host: "docs.example.org", port: 8443, path: /mcp } }
  - { name: old.one, sse: { host: "http://localhost:1/sse" }, policies: { backendAuth: { key: k-1 } } }
  - { name: program, stdio: { cmd: npx, args: [-y, server], env: { A: b } } }
  - { name: api, openapi: { host: "http://localhost:2", schema: { file: ${file} } } }
`,
  );
  await Deno.remove(folder, { recursive: true });

  assert.deepEqual(routes[0]?.gateways, ["default"]);
  assert.deepEqual(routes[0]?.matches, [
    { path: { type: "PathPrefix", value: "/mcp" } },
  ]);
  assert.deepEqual(routes[0]?.backends, [{
    mcp: {
      servers: [
        { name: "web", url: "http://docs.example.org:8443/mcp" },
        {
          name: "old-one",
          sse: "http://localhost:1/sse",
          credentials: { fromEnv: "MCP_OLD_ONE_KEY_7C35" },
        },
        {
          name: "program",
          stdio: { command: "npx", args: ["-y", "server"], env: { A: "b" } },
        },
        { name: "api", openapi: { file, baseUrl: "http://localhost:2/" } },
      ],
      prefix: "Always",
    },
  }]);
  assert.equal(notes.length, 2);
  assert.match(
    notes.join("\n"),
    /^\d+:\d+ key: it is not copied; set the environment variable MCP_OLD_ONE_KEY_7C35 to it$/m,
  );
  assert.match(
    notes.join("\n"),
    /^8:\d+ stdio: of the gateway's environment/m,
  );
});

Deno.test("import takes over mirrors, tracing and the access log", async () => {
  const { config, routes, backends, notes } = await imported(`config:
  tracing: { otlpEndpoint: "http://collector:4317", randomSampling: true }
frontendPolicies:
  accessLog: { add: { user: jwt.sub, host.of: nowhere.at }, remove: [src.addr] }
gateways: { default: { port: 8080 } }
routes:
- name: api
  policies: { requestMirror: { backend: { host: "b:81" }, percentage: 0.005 } }
  backends: [{ host: "a:1" }]
`);
  assert.deepEqual(config, {
    accessLog: { add: { user: "jwt.sub" }, remove: ["src.addr"] },
    otlp: { endpoint: "http://collector:4317", protocol: "grpc" },
    tracing: { randomSampling: 1 },
  });
  assert.deepEqual(backends, [
    { name: "api-mirror", static: { host: "b", port: 81 } },
  ]);
  assert.deepEqual(routes[0]?.filters, [{
    type: "RequestMirror",
    requestMirror: {
      backendRef: { name: "api-mirror" },
      fraction: { numerator: 50, denominator: 10_000 },
    },
  }]);
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? "", /config\.accessLog\.add\["host\.of"\]/);
});

Deno.test("import closes routes that would be open or go nowhere, and says where", async () => {
  const { routes, notes } = await imported(`config:
  database: { url: postgresql://localhost }
gateways: { default: { port: 8080 } }
routes:
- { name: named, matches: [{ path: { exact: /a } }], backends: [{ mcp: { targets: [{ name: a, mcp: { backend: b } }] } }] }
- { name: oidc, matches: [{ path: { exact: /b } }], policies: { oidc: { issuer: x } }, backends: [{ host: "a:1" }] }
- name: claims
  matches: [{ path: { exact: /c } }]
  policies:
    jwtAuth:
      issuer: https://i.example
      jwks: { url: https://i.example/keys }
      jwtValidationOptions: { requiredClaims: [exp, sub] }
  backends: [{ host: "a:1" }]
- { name: cel, matches: [{ path: { exact: /d } }], policies: { authorization: { rules: ["default(jwt.sub, 'a') == 'a'"] } }, backends: [{ host: "a:1" }] }
- { name: several, matches: [{ path: { exact: /e } }], policies: { mcpAuthorization: { rules: [{ deny: "mcp.tool.name == 'x'" }] } }, backends: [{ mcp: { targets: [{ name: a, mcp: { host: a } }, { name: b, mcp: { host: b } }] } }] }
- { name: guarded, matches: [{ path: { exact: /f } }], backends: [{ ai: { provider: { openAI: {} } }, policies: { extAuthz: {} } }] }
- { name: lost, gateways: other, backends: [{ host: "a:1" }] }
`);

  assert.deepEqual(
    Object.fromEntries(routes.map(({ name, policies }) => [name, policies])),
    {
      named: closedFor("mcp"),
      oidc: closedFor("oidc"),
      claims: closedFor("jwtAuth"),
      cel: closedFor("policies.authorization.policy.matchExpressions[0]"),
      several: {
        authorization: {
          policy: {
            matchExpressions: [
              "(!has(mcp.tool) && !has(mcp.prompt) && !has(mcp.resource)) || (!(mcp.tool.name == 'x'))",
            ],
          },
        },
        ...closedFor("mcpAuthorization"),
      },
      guarded: closedFor("extAuthz"),
    },
  );
  const several = routes.find(({ name }) => name === "several");
  const { mcp } = Object(several?.backends?.[0]);
  assert.equal(mcp.servers.length, 2);
  assert.deepEqual(notes.map((note) => note.split(":").slice(0, 2).join(":")), [
    "2:3 config.database",
    "5:84 target",
    "6:65 expected an issuer and a clientId",
    "13:7 routes[2].policies.jwtAuth.jwtValidationOptions",
    "15:3 policies.authorization.policy.matchExpressions[0]",
    "16:68 mcpAuthorization",
    "17:115 extAuthz",
    "18:3 gateways",
  ]);
});

Deno.test("import closes all routes if a policy outside of them restricts access", async () => {
  const { routes, notes } = await imported(`
gateways: { default: { port: 8080 } }
frontendPolicies: { networkAuthorization: { rules: [a] } }
routes: [{ backends: [{ host: "a:1" }] }]
`);

  assert.deepEqual(routes[0]?.policies, closedFor("networkAuthorization"));
  assert.deepEqual(notes, ["3:21 networkAuthorization: no counterpart"]);
});

for (
  const { what, text, message } of [
    { what: "no YAML", text: "a: [", message: /config\.yaml:1:\d+: error: / },
    {
      what: "another file",
      text: "services: {}",
      message: /expected a configuration of agentgateway with "binds"/,
    },
    {
      what: "an alias that contains itself",
      text: "a: &a { b: *a }",
      message: /expected a configuration of agentgateway/,
    },
  ]
) {
  Deno.test(`import rejects ${what}`, async () => {
    await assert.rejects(importText("config.yaml", text), message);
  });
}
