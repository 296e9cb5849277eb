import assert from "node:assert/strict";
import { importText } from "../../../../cli/import/import_file.ts";
import { textSource } from "../../../../src/config/configuration_source.ts";
import { isError } from "../../../../src/config/diagnostics/located_diagnostic.ts";
import { parseAllYaml } from "../../../../src/base/yaml_library.ts";
import { validateConfiguration } from "../../../../src/gateway/candidate/candidate.ts";

interface Imported {
  readonly routes: readonly Readonly<Record<string, unknown>>[];
  readonly backends?: readonly Readonly<Record<string, unknown>>[];
}

/** Imports a route with credentials at its backend; the result must load. @param rest Further policies of the route. */
async function imported(backendAuth: string, rest = "") {
  const { text, notes } = await importText(
    "config.yaml",
    `
binds:
- port: 3000
  listeners:
  - routes:
    - name: api
      backends: [{ host: "localhost:18080" }]
      policies:
        backendAuth: ${backendAuth}
${rest}`,
  );
  const { diagnostics } = await validateConfiguration(
    textSource(text),
    new Proxy<Record<string, string>>({}, {
      get: () => "value-of-a-variable",
      has: () => true,
    }),
  );
  assert.deepEqual(diagnostics.filter(isError), []);
  const [{ routes: [route], backends }] = parseAllYaml(text) as [Imported];
  return { text, route, backends, notes: notes.map((each) => each.message) };
}

Deno.test("import takes over tokens that the gateway gets for its backends, without the secret of its client", async () => {
  const { text, route, backends, notes } = await imported(`
          oauthTokenExchange:
            host: localhost:7090
            path: /token
            grantType: jwtBearer
            clientAuth: { clientId: app, clientSecret: planted-secret, method: clientSecretPost }
            audiences: [orders]
            scopes: [read]
            additionalParams: { requested_token_use: '"on_behalf_of"' }
            cache: { defaultTtl: 1h }`);

  const [variable = ""] = /LOCALHOST_18080_CLIENT_SECRET_\w{4}/.exec(text) ??
    [];
  assert.deepEqual(route?.["backends"], [{ backend: "api-1" }]);
  assert.deepEqual(backends, [{
    name: "api-1",
    static: { host: "localhost", port: 18080 },
    credentials: {
      jwtBearer: {
        tokenEndpoint: "http://localhost:7090/token",
        clientId: "app",
        clientSecret: { fromEnv: variable },
        authMethod: "Post",
        scopes: ["read"],
        audience: "orders",
        parameters: { requested_token_use: "on_behalf_of" },
      },
    },
  }]);
  assert.deepEqual(notes, [
    `secret: it is not copied; set the environment variable ${variable} to it`,
  ]);
  assert(!text.includes("planted-secret"));
});

Deno.test("import takes over keys and identities of AWS for any backend", async () => {
  const key = await imported("{ key: { value: $BACKEND_KEY } }");
  const aws = await imported(
    "{ aws: { serviceName: execute-api, region: eu-west-1 } }",
  );

  const credentials = [key, aws].map(({ backends }) =>
    backends?.[0]?.["credentials"]
  );
  assert.deepEqual(credentials, [
    { key: "${BACKEND_KEY}" },
    { aws: { service: "execute-api", region: "eu-west-1" } },
  ]);
});

for (
  const [kind, backendAuth, remedy] of [
    ["jwtSign", "{ jwtSign: { key: k } }", /credentials\.jwtBearer/],
    ["crossAppAccess", "{ crossAppAccess: { audience: a } }", /identityAss/],
    ["copilot", "{ copilot: {} }", /credentials\.key/],
    [
      "oauthTokenExchange",
      '{ oauthTokenExchange: { host: "h:1", audiences: [a, b], clientAuth: { clientId: c } } }',
      /one audience/,
    ],
    [
      "oauthTokenExchange",
      '{ oauthTokenExchange: { host: "h:1", clientAuth: { clientId: c }, actorToken: {} } }',
      /with all of its fields/,
    ],
  ] as const
) {
  Deno.test(`import closes a route whose credentials have no counterpart, and names it with a remedy: ${backendAuth}`, async () => {
    const { route, notes } = await imported(backendAuth);

    assert.deepEqual(route?.["policies"], {
      directResponse: { status: 503, body: "not imported: backendAuth" },
    });
    assert.equal(notes.length, 1);
    assert.match(notes.join(), new RegExp(`^backendAuth: ${kind} has no coun`));
    assert.match(notes.join(), remedy);
  });
}

Deno.test("import forwards the token of an MCP client only where the file says so", async () => {
  const login = `
        mcpAuthentication:
          issuer: https://login.example.com
          audiences: [https://gateway.example.com/mcp]
          jwks: { url: https://login.example.com/jwks }
          clientId: gateway
          clientSecret: planted-secret
          resourceMetadata: { resource: https://gateway.example.com/mcp }
`;
  const passed = await imported("{ passthrough: {} }", login);
  const kept = await imported("{ key: $KEY }", login);

  const forwards = [passed, kept].map(({ text }) =>
    text.includes("forwardToken: true")
  );
  assert.deepEqual(forwards, [true, false]);
  assert.match(passed.text, /clientSecret: \$\{MCP_CLIENT_SECRET_\w{4}\}/);
  assert(!passed.text.includes("planted-secret"));
});
