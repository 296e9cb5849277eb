import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { exportPKCS8, generateKeyPair } from "jose";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { startOtlpCollector } from "../../harness/servers/otlp_collector.ts";
import { startProvider } from "../../harness/llm/provider_server.ts";
import {
  formsShown,
  secretPlaces,
} from "../../harness/gateway/secret_places.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";
import { UI_AUTHORIZATION } from "../../harness/browser/ui_gateway.ts";

/** The end of a place is the same wherever a route, a policy or the web UI has it. */
function endOf(place: string): string {
  return place.replace(
    /^(?:routes\.\*|policies\.\*|ui|backends\.\*)\.(?:backends\.\*\.|traffic\.|backend\.|policies\.)?/,
    "",
  ).replace(/^gateways\.\*\.(?:listeners\.\*\.)?/, "");
}

const { cert, key } = await (await createAuthority()).issueServer([
  "localhost",
]);

const issuer = await createTokenIssuer();

const CLIENT_SECRET = "planted/token+client-93be";
const clientKey = await exportPKCS8(
  (await generateKeyPair("ES256", { extractable: true })).privateKey,
);

/** A secret for each place, valid there; the characters differ in all encodings. */
const secrets: Readonly<Record<string, string>> = {
  "config.adminToken": "planted/admin+token-7d1c",
  "config.connections.logins.*.clientSecret": "planted/pages+secret-88e1",
  "config.vault.keys.*": "planted/vault+key-0f6b1ce2-0f6b1ce2-771c",
  "config.sessionSecret": 'planted/"session"+secret-0f6b1ce2-0f6b1ce2',
  "config.adminLogin.clientSecret": "planted/admin+client-6a10",
  "config.adminLogin.cookieSecret": 'planted/"admin"+cookies-0f6b1ce2-0f6b1ce2',
  "config.budgetWebhook.authorization": "planted/webhook+token-3b81",
  "config.otlp.headers.*": "planted/collector+key-5521",
  "jwtAuthentication.providers.*.introspection.clientSecret":
    "planted/introspection+secret-6e09",
  "jwtAuthentication.providers.*.introspection.privateKey": clientKey,
  "jwtAuthentication.mcp.tokenClients.*.clientSecret":
    "planted/token-client+secret-93ab",
  "jwtAuthentication.mcp.clients.registrationTokens.*":
    "planted/registration+token-0d2b",
  "jwtAuthentication.mcp.clientSecret": 'planted/"client"+secret-9a33',
  "jwtAuthentication.mcp.stateSecret":
    'planted/"state"+secret-0f6b1ce2-0f6b1ce2',
  "oidc.clientSecret": 'planted/"browser"+secret-5d17',
  "oidc.cookieSecret": 'planted/"cookies"+secret-0f6b1ce2-0f6b1ce2',
  "basicAuthentication.users.*": await userLine("planted/password-77"),
  "apiKeyAuthentication.keys.*.key": 'planted/"api"+key-31aa',
  "apiKeyAuthentication.keys.*.keyHash": `sha256:${await digest(
    "SHA-256",
    "another planted key",
  )}`,
  "credentials.key": "planted/backend+key-40f2",
  ...Object.fromEntries(
    ["", "llm.", "mcp.servers.*."].flatMap((place) =>
      [
        "clientCredentials",
        "tokenExchange",
        "jwtBearer",
        "identityAssertion",
        "identityAssertion.identityProvider",
        "oauth",
      ].flatMap((kind) => [
        [`${place}credentials.${kind}.clientSecret.key`, CLIENT_SECRET],
        [`${place}credentials.${kind}.privateKey.key`, clientKey],
      ])
    ),
  ),
  ...Object.fromEntries(
    ["", "llm.", "mcp.servers.*."].map((place) => [
      `${place}credentials.azure.clientSecret.key`,
      CLIENT_SECRET,
    ]),
  ),
  "llm.credentials.key": "planted/provider+key-e2c1",
  "mcp.servers.*.credentials.key": "planted/server+key-77d0",
  "mcp.servers.*.headers.*": "planted/server+header-19b4",
  "mcp.servers.*.stdio.args.*": "planted/program+argument-64fd",
  "mcp.servers.*.stdio.env.*": "planted/program+variable-0c35",
  "tls.key": key,
  "tls.certificates.*.key": key,
};

/** Values of the environment, by their variable. */
const environment = {
  PLANTED_BODY: 'planted "body" of the environment',
  PLANTED_DEFAULT: "planted-default-of-the-environment",
  PLANTED_ATTRIBUTE: "planted-attribute-of-the-environment",
  PLANTED_METADATA: "planted-metadata-of-the-environment",
};

/** Secrets that only a part of their field has. */
const parts = {
  "config.kv.redis": "planted-redis-password-12",
  "issued token": "planted-issued-token-78",
  "jwks.url": "planted-jwks-password-34",
  "requestHeaderModifier": "planted-upstream-value-56",
};

async function digest(name: string, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  return new Uint8Array(await crypto.subtle.digest(name, bytes)).toHex();
}

async function userLine(password: string): Promise<string> {
  const hex = await digest("SHA-1", password);
  return `anna:{SHA}${Uint8Array.fromHex(hex).toBase64()}`;
}

Deno.test("each secret of the schema of a configuration file has a value here", () => {
  const places = secretPlaces(schemasOf().short.whole);

  assert.deepEqual(
    [...new Set(places.map(endOf))].sort(),
    Object.keys(secrets).sort(),
  );
});

function configuration(collector: string, provider: string) {
  const { backends, routes } = withTokens(provider);
  return {
    backends,
    config: {
      adminToken: secrets["config.adminToken"],
      sessionSecret: secrets["config.sessionSecret"],
      adminLogin: {
        issuer: "http://127.0.0.1:1",
        clientId: "admin",
        clientSecret: secrets["config.adminLogin.clientSecret"],
        cookieSecret: secrets["config.adminLogin.cookieSecret"],
        roles: { admin: "jwt.sub == 'anna'" },
      },
      budgetWebhook: {
        url: "http://127.0.0.1:9/hook",
        authorization: secrets["config.budgetWebhook.authorization"],
      },
      logging: { level: "trace" },
      otlp: {
        endpoint: collector,
        headers: { "x-collector-key": secrets["config.otlp.headers.*"] },
        resourceAttributes: { place: "${PLANTED_ATTRIBUTE}" },
      },
      tracing: {},
      vault: { keys: [secrets["config.vault.keys.*"]] },
      connections: {
        url: "http://127.0.0.1:9/connections",
        logins: [{
          issuer: issuer.issuer,
          clientId: "pages",
          clientSecret: secrets["config.connections.logins.*.clientSecret"],
        }],
      },
      kv: { redis: `redis://user:${parts["config.kv.redis"]}@127.0.0.1:1` },
      metrics: { otlpInterval: "1s" },
    },
    gateways: {
      default: { port: freePort(), address: "127.0.0.1" },
      tls: {
        port: freePort(),
        address: "127.0.0.1",
        protocol: "HTTPS",
        tls: { cert, key },
      },
    },
    routes: [
      route("plain", { directResponse: { status: 200, body: "plain" } }),
      route("body", {
        directResponse: { status: 200, body: "it is ${PLANTED_BODY}." },
      }),
      route("login", {
        jwtAuthentication: {
          providers: [{
            issuer: issuer.issuer,
            audiences: ["a"],
            jwks: { inline: jwksOf(issuer) },
          }],
          mcp: {
            issuerMode: "Proxied",
            clientId: "gateway",
            clientSecret: secrets["jwtAuthentication.mcp.clientSecret"],
            clients: {
              registration: "Token",
              registrationTokens: [
                secrets["jwtAuthentication.mcp.clients.registrationTokens.*"],
              ],
            },
            tokenClients: [{
              clientId: "machine",
              clientSecret: secrets[
                "jwtAuthentication.mcp.tokenClients.*.clientSecret"
              ],
            }],
            stateSecret: secrets["jwtAuthentication.mcp.stateSecret"],
            resourceMetadata: { resource: "http://localhost/login" },
          },
        },
        directResponse: { status: 200 },
      }),
      route("remote", {
        jwtAuthentication: {
          providers: [{
            issuer: `${issuer.issuer}/opaque`,
            audiences: ["a"],
            introspection: {
              endpoint: "http://127.0.0.1:1/introspect",
              clientId: "gateway",
              clientSecret: secrets[
                "jwtAuthentication.providers.*.introspection.clientSecret"
              ],
            },
          }, {
            issuer: `${issuer.issuer}/signed`,
            audiences: ["a"],
            introspection: {
              endpoint: "http://127.0.0.1:1/introspect",
              clientId: "signer",
              privateKey: secrets[
                "jwtAuthentication.providers.*.introspection.privateKey"
              ],
            },
          }, {
            issuer: `${issuer.issuer}/other`,
            audiences: ["a"],
            jwks: { url: `http://user:${parts["jwks.url"]}@127.0.0.1:1/` },
          }],
        },
        requestHeaderModifier: {
          set: [{
            name: "authorization",
            value: parts.requestHeaderModifier,
          }],
        },
        directResponse: { status: 200 },
      }),
      route("limited", {
        rateLimit: {
          global: {
            domain: "d",
            store: "KV",
            descriptors: [{
              entries: [{ key: "path", value: "request.path" }],
              requests: 5,
              unit: "Hours",
            }],
          },
        },
        directResponse: { status: 200 },
      }),
      route("browser", {
        oidc: {
          issuer: "http://127.0.0.1:1",
          clientId: "web",
          clientSecret: secrets["oidc.clientSecret"],
          cookieSecret: secrets["oidc.cookieSecret"],
        },
        directResponse: { status: 200 },
      }),
      route("basic", {
        basicAuthentication: {
          users: [secrets["basicAuthentication.users.*"]],
        },
        directResponse: { status: 200 },
      }),
      route("key", {
        apiKeyAuthentication: {
          keys: [
            {
              key: secrets["apiKeyAuthentication.keys.*.key"],
              metadata: { team: ["${PLANTED_METADATA}"] },
            },
            { keyHash: secrets["apiKeyAuthentication.keys.*.keyHash"] },
          ],
        },
        directResponse: { status: 200 },
      }),
      {
        name: "servers",
        matches: [{ path: { value: "/servers" } }],
        backends: [{
          mcp: {
            servers: [{
              name: "planted",
              url: `http://${provider}/mcp`,
              headers: { "x-api-key": secrets["mcp.servers.*.headers.*"] },
              credentials: { key: secrets["mcp.servers.*.credentials.key"] },
            }],
          },
        }],
      },
      {
        name: "program",
        matches: [{ path: { value: "/program" } }],
        backends: [{
          mcp: {
            servers: [{
              name: "planted",
              stdio: {
                command: Deno.execPath(),
                args: ["eval", "0", secrets["mcp.servers.*.stdio.args.*"]],
                env: { TOKEN: secrets["mcp.servers.*.stdio.env.*"] },
              },
            }],
          },
        }],
      },
      ...routes,
      {
        name: "llm",
        matches: [{ path: { value: "/v1/" } }],
        backends: [{
          llm: {
            provider: "OpenAI",
            host: provider,
            plainText: true,
            credentials: { key: secrets["llm.credentials.key"] },
            defaults: { user: "${PLANTED_DEFAULT}" },
          },
        }],
      },
    ],
    ui: { gateways: ["default"] },
  };
}

/** Backends that get a key, or tokens, and their routes. */
function withTokens(host: string) {
  const [hostname = "", port] = host.split(":");
  const client = { tokenEndpoint: `http://${host}/token`, clientId: "gateway" };
  const secret = { ...client, clientSecret: { key: CLIENT_SECRET } };
  const signed = { ...client, privateKey: { key: clientKey } };
  const credentials = {
    "key-itself": { key: secrets["credentials.key"] },
    "own-secret": { clientCredentials: secret },
    "own-key": { clientCredentials: signed },
    exchanged: { tokenExchange: secret },
    asserted: { jwtBearer: signed },
    "asserted-by-provider": {
      identityAssertion: {
        ...secret,
        issuer: `http://${host}`,
        tokenEndpoint: undefined,
        identityProvider: signed,
      },
    },
    ...Object.fromEntries(
      Object.entries({ "login-secret": secret, "login-key": signed }).map((
        [name, client],
      ) => [name, {
        oauth: {
          ...client,
          authorizationEndpoint: `http://${host}/authorize`,
          resource: `http://${host}/`,
        },
      }]),
    ),
    cloud: {
      azure: {
        tenantId: "tenant",
        clientId: "client",
        clientSecret: { key: CLIENT_SECRET },
      },
    },
  };
  const address = { host: hostname, port: Number(port) };
  const provider = {
    issuer: issuer.issuer,
    audiences: ["https://gw.example/mcp"],
    jwks: { inline: jwksOf(issuer) },
  };
  const entries = Object.entries(credentials);
  return {
    backends: entries.map(([name, credentials]) => ({
      name,
      static: address,
      credentials,
    })),
    routes: entries.map(([name]) => ({
      ...route(name, { jwtAuthentication: { providers: [provider] } }),
      backends: [{ backend: name }],
    })),
  };
}

function route(name: string, policies: Readonly<Record<string, unknown>>) {
  return { name, matches: [{ path: { value: `/${name}` } }], policies };
}

/** Sends a request to each route, with right and wrong credentials. */
async function useAll(origin: string): Promise<void> {
  const key = secrets["apiKeyAuthentication.keys.*.key"];
  const basic = btoa("anna:planted/password-77");
  const get = async (path: string, authorization = "") => {
    const headers = { authorization };
    await (await fetch(origin + path, { headers })).text();
  };
  await get("/plain");
  await get("/body");
  await get("/remote", `Bearer ${await issuer.sign()}`);
  await get("/limited");
  await initializeMcp(`${origin}/servers`);
  await initializeMcp(`${origin}/program`);
  await get("/login", "Bearer wrong");
  await get("/.well-known/oauth-authorization-server/login");
  await get("/login/authorize?client_id=none");
  for (const each of [basic, btoa("anna:wrong")]) {
    await get("/basic", `Basic ${each}`);
  }
  for (const each of [key, "wrong"]) await get("/key", `Bearer ${each}`);
  const user = `Bearer ${await issuer.sign()}`;
  for (const name of ["key-itself", "own-secret", "own-key"]) {
    await get(`/${name}`, user);
  }
  for (
    const name of [
      "exchanged",
      "asserted",
      "asserted-by-provider",
      "login-secret",
      "login-key",
    ]
  ) {
    await get(`/${name}`, user);
  }
  const body = '{"model":"m","messages":[]}';
  const sent = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    body,
  });
  await sent.text();
}

/** Begins a session, for which the gateway connects to the server. */
async function initializeMcp(url: string): Promise<void> {
  const params = { protocolVersion: "2025-11-25", capabilities: {} };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params,
    }),
  });
  await response.text();
}

/** Reads all that the admin interface, the metrics and the web UI on the gateway show. */
async function readAll(gateway: GatewayProcess, origin: string) {
  const token = secrets["config.adminToken"];
  const read = async (base: string, path: string, authorization: string) => {
    const response = await fetch(base + path, { headers: { authorization } });
    return [
      `${base}${path} ${response.status}`,
      await response.bytes(),
    ] as const;
  };
  const own = (path: string) => read(gateway.admin, path, `Bearer ${token}`);
  const paths = [
    ...["/", "/config_dump", "/logging", "/usage", "/traffic", "/requests"],
    ...["/debug/requests", "/debug/tasks", "/debug/pprof/heap", "/memory"],
    ...["/debug/pprof/profile?seconds=1", "/openapi.json", "/no/such/path"],
  ];
  const pages = ["status", "config", "metrics", "budgets", "keys", "memory"]
    .concat(["tasks", "usage", "traffic", "requests", "logging", "source"])
    .map((name) => `/ui/api/${name}`);
  const found = [
    ...await Promise.all([...paths, ...pages].map(own)),
    ...await Promise.all(
      pages.map((path) => read(origin, path, UI_AUTHORIZATION)),
    ),
    await read(gateway.stats, "/metrics", ""),
    await read(gateway.admin, "/config_dump", "Bearer wrong"),
  ];
  const [, listed] =
    found.find(([name]) => / 200/.test(name) && name.includes("/requests")) ??
      [];
  const ids = new TextDecoder().decode(listed).matchAll(/"id": "([\w-]+)"/g);
  for (const [, id] of ids) found.push(await own(`/requests/${id}`));
  return found;
}

Deno.test("no secret of a configuration appears in dumps, the web UI, logs, traces, metrics, exports, profiles or errors", async () => {
  await using collector = await startOtlpCollector("http");
  await using provider = startProvider(({ target }) =>
    Response.json(
      target === "/token"
        ? {
          access_token: parts["issued token"],
          token_type: "Bearer",
          issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        }
        : { usage: { prompt_tokens: 1, completion_tokens: 1 } },
    )
  );
  await using gateway = await GatewayProcess.start({
    env: environment,
    config: configuration(collector.endpoint, provider.host),
  });
  const authorization = `Bearer ${secrets["config.adminToken"]}`;
  const written = JSON.parse(await Deno.readTextFile(gateway.file));
  const origin = `http://127.0.0.1:${written.gateways.default.port}`;

  const { body } = await fetch(`${gateway.admin}/debug/trace?count=17`, {
    headers: { authorization },
  });
  await useAll(origin);
  const trace = await new Response(body).text();
  const issued = `Bearer ${parts["issued token"]}`;
  assert.equal(
    provider.requests.filter(({ headers }) =>
      headers.get("authorization") === issued
    ).length,
    4,
  );
  const shown = await readAll(gateway, origin);
  // A configuration with an error beside each secret.
  let count = 0;
  const broken = JSON.stringify(written, null, 2).replaceAll(
    /"[\w-]+": "[^\n]*(?:planted|BEGIN|sha256)/g,
    (field) => `"no${++count}": 1, ${field}`,
  );
  await Deno.writeTextFile(gateway.file, broken);
  await gateway.log.next(/Configuration rejected/);
  const [, rejected = new Uint8Array()] = (await readAll(gateway, origin))[1] ??
    [];
  gateway.signal("SIGTERM");
  await gateway.exitCode();

  const bodies = trace.matchAll(
    /"type":"bodySnapshot"[^{}]*"body":"([\w+\/=]+)"/g,
  );
  const texts: Readonly<Record<string, string>> = {
    ...Object.fromEntries(shown.map(([name, bytes]) => [name, read(bytes)])),
    "the rejected configuration": read(rejected),
    "the trace": trace,
    "bodies in the trace": [...bodies].map(([, text = ""]) => atob(text))
      .join(),
    "the log": gateway.log.all.join("\n"),
    "the access log": gateway.accessLog.all.join("\n"),
    "exports": JSON.stringify(
      collector.received.map(({ headers: _, ...each }) => each),
      (_, value) => typeof value === "bigint" ? String(value) : value,
    ),
  };
  const planted = { ...secrets, ...parts, ...environment };
  for (const [name, text] of Object.entries(texts)) {
    assert.ok(text.length > 0, `${name} is empty`);
    for (const [place, secret] of Object.entries(planted)) {
      const isSent = name === "exports" && place === "PLANTED_ATTRIBUTE";
      if (isSent) continue;
      assert.deepEqual(formsShown(text, secret), [], `${place} in ${name}`);
    }
  }
  assert.match(texts["bodies in the trace"] ?? "", /it is <redacted>\./);
  assert.match(texts["the rejected configuration"] ?? "", /unknown field/);
});

/** Decompresses profiles. */
function read(bytes: Uint8Array): string {
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b
    ? gunzipSync(bytes)
    : bytes;
  return new TextDecoder().decode(plain);
}
