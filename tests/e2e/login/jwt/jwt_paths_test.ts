import assert from "node:assert/strict";
import fc from "fast-check";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import {
  audience,
  startGuardedServer,
} from "../../../harness/servers/guarded_server.ts";
import { IdentityServer } from "../../../harness/login/identity_server.ts";
import {
  exchangeRaw,
  statusOf,
} from "../../../harness/clients/raw_exchange.ts";

const wellKnown = [
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-authorization-server",
];

/** A gateway with a protected MCP server on each route; `matches` of each as in the configuration. */
async function protectRoutes(routes: Readonly<Record<string, unknown>>[]) {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(startGuardedServer());
  const idp = opening.use(await IdentityServer.start());
  const gateway = opening.use(
    await startTestGateway({
      routes: routes.map((route, index) => ({
        name: `route-${index}`,
        backends: [{ host: server.host }],
        policies: {
          jwtAuthentication: {
            providers: [{
              issuer: `${idp.origin}/`,
              audiences: [audience],
              jwks: { url: `${idp.origin}/jwks.json` },
            }],
            mcp: { provider: "IdpA", clientId: "c", registration: "Gateway" },
          },
        },
        ...route,
      })),
    }),
  );
  const open = opening.move();
  return {
    origin: gateway.origin,
    port: gateway.port,
    reached: server.reached,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function prefixes(...values: readonly string[]) {
  return { matches: values.map((value) => ({ path: prefix(value) })) };
}

function prefix(value: string) {
  return { type: "PathPrefix", value };
}

Deno.test("metadata of an MCP server are those of another route that covers their path", async () => {
  await using own = startGuardedServer();
  await using gateway = await protectRoutes([
    prefixes("/mcp"),
    {
      ...prefixes(`${wellKnown[0]}/mcp`),
      policies: {},
      backends: [{ host: own.host }],
    },
  ]);

  const metadata = await fetch(`${gateway.origin}${wellKnown[0]}/mcp`);

  assert.deepEqual(await metadata.json(), { ok: true });
  assert.equal(own.reached.length, 1);
});

Deno.test("the root form of the metadata is that of the only MCP server of a host", async () => {
  await using gateway = await protectRoutes([
    { hostnames: ["a.example"], ...prefixes("/mcp") },
    { hostnames: ["b.example", "c.example"], ...prefixes("/tools") },
    { hostnames: ["d.example"], ...prefixes("/one") },
    { hostnames: ["d.example"], ...prefixes("/two") },
  ]);
  const url = `${gateway.origin}/.well-known/oauth-protected-resource`;

  const answers = await Promise.all(
    ["a", "b", "c", "d", "other"].map((name) =>
      fetchRaw(url, { headers: { host: `${name}.example` } })
    ),
  );

  const resources = answers.map(({ status, bytes }) =>
    status === 200
      ? JSON.parse(new TextDecoder().decode(bytes)).resource
      : status
  );
  assert.deepEqual(resources, [
    "http://a.example/mcp",
    "http://b.example/tools",
    "http://c.example/tools",
    404,
    404,
  ]);
});

const segments = [
  "mcp",
  "m%63p",
  "%2e",
  "../../..",
  "",
  ".well-known",
  "oauth-protected-resource",
  "oauth-authorization-server",
  "openid-configuration",
  "register",
  "client-registration",
  "x;y",
  "%2F",
];

Deno.test("no path and no method leads to the server without a token", async () => {
  await using gateway = await protectRoutes([
    everyPath,
    { hostnames: ["a.example"], ...prefixes("/mcp", ...wellKnown) },
  ]);

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("GET", "POST", "OPTIONS", "DELETE", "PROPFIND"),
      fc.array(fc.constantFrom(...segments), { maxLength: 6 }),
      fc.constantFrom("", "/", "?access_token=a.b.c", "?/.well-known/"),
      fc.constantFrom("a.example", "b.example"),
      async (method, path, end, host) => {
        const answer = await exchangeRaw(
          gateway.port,
          `${method} /${
            path.join("/")
          }${end} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
        );
        assert.ok(statusOf(answer) !== 0 && statusOf(answer) < 500, answer);
      },
    ),
    { numRuns: 500 },
  );
  assert.deepEqual(gateway.reached, []);
});

async function readJson(url: string, host: string) {
  const { status, bytes } = await fetchRaw(url, { headers: { host } });
  assert.equal(status, 200, url);
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** Finds the authorization server as strict clients do, who take no document that names another URL than theirs. */
async function discover(gateway: string, path: string, host: string) {
  const own = (url: string) => {
    assert.ok(url.startsWith(`http://${host}/`), url);
    return gateway + new URL(url).pathname;
  };
  const { status, headers } = await fetchRaw(gateway + path, {
    method: "POST",
    headers: { host },
  });
  assert.equal(status, 401);
  const challenge = String(headers["www-authenticate"]);
  const [, url = ""] = /resource_metadata="([^"]*)"/.exec(challenge) ?? [];
  const { resource, authorization_servers: [issuer] } = await readJson(
    own(url),
    host,
  );
  assert.equal(resource, `http://${host}${path === "/" ? "" : path}`);
  const issuerPath = issuer.slice(`http://${host}`.length);
  const server = await readJson(
    `${gateway}/.well-known/oauth-authorization-server${issuerPath}`,
    host,
  );
  assert.equal(server.issuer, issuer);
  return own(server.registration_endpoint);
}

const everyPath = {};

for (
  const [where, path, routes, host] of [
    ["at the path of its route", "/mcp", [
      prefixes("/mcp", ...wellKnown.map((prefix) => `${prefix}/mcp`)),
    ]],
    ["at a path of several segments", "/tools/mcp", [
      prefixes("/tools/mcp", ...wellKnown.map((each) => `${each}/tools/mcp`)),
    ]],
    ["whose route says nothing about metadata", "/mcp", [prefixes("/mcp")]],
    ["at the second path of its route", "/sse", [
      prefixes("/mcp", "/sse"),
    ]],
    ["below a route for every path", "/mcp", [everyPath]],
    ["deep below a route for every path", "/a/b%20c/mcp", [everyPath]],
    ["at the root", "/", [everyPath]],
    ["at an exact path", "/mcp", [{
      matches: [
        { path: { type: "Exact", value: "/mcp" } },
        ...wellKnown.map((value) => ({ path: prefix(value) })),
      ],
    }]],
    [
      "beside others",
      "/b/mcp",
      ["/a/mcp", "/b/mcp"].map((path) =>
        prefixes(path, ...wellKnown.map((prefix) => prefix + path))
      ),
    ],
    ["under a hostname", "/mcp", [
      everyPath,
      { hostnames: ["a.example"], ...everyPath },
    ], "a.example:8443"],
    ["at an IPv6 address", "/mcp", [everyPath], "[2001:db8::1]:3000"],
  ] as const
) {
  Deno.test(`a client that is told nothing finds where to log in for a server ${where}`, async () => {
    await using gateway = await protectRoutes([...routes]);
    const { origin } = gateway;

    const registration = await discover(
      origin,
      path,
      host ?? new URL(origin).host,
    );

    const { status } = await fetchRaw(registration, {
      method: "POST",
      headers: host === undefined ? {} : { host },
      body: "{}",
    });
    assert.equal(status, 201);
  });
}
