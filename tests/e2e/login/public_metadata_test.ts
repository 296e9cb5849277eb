import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { IdentityServer } from "../../harness/login/identity_server.ts";
import { createTokenIssuer } from "../../harness/login/tokens.ts";

const app = "https://app.example.com";
const inspector = "https://inspector.example.net";

/** CORS for one application, with its cookies. */
const cors = {
  allowOrigins: [app],
  allowMethods: ["GET"],
  allowCredentials: true,
};

/** Place of the CORS policy, which governs the MCP server, not its OAuth endpoints. */
type Place = "route" | "gateway";

/** Starts a gateway in issuer mode `Proxied`. */
async function setUp(place: Place, provider?: IdentityServer) {
  await using opening = new AsyncDisposableStack();
  const idp = provider ?? opening.use(await IdentityServer.start());
  const gateway = opening.use(
    await startTestGateway({
      routes: [{
        name: "mcp",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        policies: {
          jwtAuthentication: {
            providers: [{
              issuer: `${idp.origin}/`,
              audiences: ["https://gw.example/mcp"],
              jwks: { url: `${idp.origin}/jwks.json` },
            }],
            mcp: {
              provider: "IdpA",
              issuerMode: "Proxied",
              clientId: "gateway",
            },
          },
          directResponse: { status: 200 },
          ...(place === "route" && { cors }),
        },
      }],
      ...(place === "gateway" && {
        policies: [{
          name: "cors",
          targetRefs: [{ kind: "Gateway", name: "default" }],
          phase: "PreRouting",
          traffic: { cors },
        }],
      }),
    }),
  );
  const open = opening.move();
  return {
    /** Sends a request as a page of `origin` makes the browser send it. */
    async send(method: string, path: string, origin: string, headers = {}) {
      const { status, headers: received, body } = await fetch(
        gateway.origin + path,
        { method, headers: { origin, ...headers } },
      );
      await body?.cancel();
      return {
        status,
        allowOrigin: received.get("access-control-allow-origin"),
        credentials: received.get("access-control-allow-credentials"),
        allowMethods: String(received.get("access-control-allow-methods")),
        exposed: received.get("access-control-expose-headers"),
        allowHeaders: String(received.get("access-control-allow-headers")),
      };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const server = "/.well-known/oauth-authorization-server/mcp";

/** Method, path, and status without a body or parameters. */
const publicEndpoints = [
  ["GET", "/.well-known/oauth-protected-resource/mcp", 200],
  ["GET", "/.well-known/oauth-protected-resource", 200],
  ["GET", server, 200],
  ["GET", "/.well-known/openid-configuration/mcp", 200],
  ["POST", `${server}/token`, 400],
  ["POST", `${server}/revoke`, 400],
  ["POST", `${server}/register`, 400],
  ["GET", `${server}/token`, 405],
  ["GET", "/mcp/.well-known/openid-configuration", 404],
  ["GET", "/.well-known/oauth-protected-resource/other", 404],
  ["GET", "/.well-known/oauth-authorization-server", 404],
  ["GET", "/.well-known/openid-configuration", 404],
  ["POST", "/.well-known/openid-configuration/register", 404],
] as const;

for (const place of ["route", "gateway"] as const) {
  Deno.test(`every page may read OAuth endpoints, whatever the CORS policy of the ${place} says`, async () => {
    await using gateway = await setUp(place);
    for (const origin of [app, inspector]) {
      for (const [method, path, expected] of publicEndpoints) {
        const asked = {
          "access-control-request-method": method,
          "access-control-request-headers": "mcp-protocol-version,content-type",
        };

        const preflight = await gateway.send("OPTIONS", path, origin, asked);
        const { status, allowOrigin, credentials } = await gateway.send(
          method,
          path,
          origin,
        );

        const where = `${method} ${path} from ${origin}`;
        assert.deepEqual([preflight.status, preflight.allowOrigin], [
          204,
          "*",
        ], where);
        assert.match(preflight.allowHeaders, /content-type, mcp-protocol-/);
        assert.deepEqual([status, allowOrigin, credentials], [
          expected,
          "*",
          null,
        ], where);
      }
    }
    const { allowMethods } = await gateway.send(
      "OPTIONS",
      `${server}/token`,
      inspector,
      { "access-control-request-method": "POST" },
    );
    assert.equal(allowMethods, "POST, OPTIONS");
  });

  Deno.test(`no page may read a page of the login, whatever the CORS policy of the ${place} says`, async () => {
    await using gateway = await setUp(place);
    for (const page of ["authorize", "consent", "callback"]) {
      const { allowOrigin, credentials } = await gateway.send(
        page === "consent" ? "POST" : "GET",
        `${server}/${page}`,
        app,
      );
      const preflight = await gateway.send(
        "OPTIONS",
        `${server}/${page}`,
        app,
        {
          "access-control-request-method": "GET",
        },
      );

      assert.deepEqual([allowOrigin, credentials], [null, null]);
      assert.deepEqual([preflight.status, preflight.allowOrigin], [
        405,
        null,
      ]);
    }
  });

  Deno.test(`the CORS policy of the ${place} governs the MCP server and other paths`, async () => {
    await using gateway = await setUp(place);
    const asked = { "access-control-request-method": "GET" };
    const preflight = async (origin: string) =>
      (await gateway.send("OPTIONS", "/mcp", origin, asked)).allowOrigin;

    assert.deepEqual([await preflight(app), await preflight(inspector)], [
      app,
      null,
    ]);
    const denied = await gateway.send("GET", "/mcp", app);
    assert.deepEqual([denied.status, denied.allowOrigin], [401, app]);
    const unknown = await gateway.send("GET", "/.well-known/other", app);
    assert.deepEqual([unknown.status, unknown.allowOrigin], [
      404,
      place === "gateway" ? app : null,
    ]);
  });
}

Deno.test("pages can read when to come back, at the MCP server and at its OAuth endpoints", async () => {
  await using idp = await IdentityServer.start({ condition: "failing" });
  const token = await (await createTokenIssuer({ issuer: `${idp.origin}/` }))
    .sign();
  await using gateway = await setUp("route", idp);

  for (const path of ["/mcp", server]) {
    const { status, exposed } = await gateway.send("GET", path, app, {
      authorization: `Bearer ${token}`,
    });

    assert.deepEqual([path, status], [path, 503]);
    assert.match(String(exposed), /retry-after/i);
  }
});

Deno.test("a route of the configuration takes precedence over the 404 for unknown metadata", async () => {
  await using idp = await IdentityServer.start();
  await using gateway = await startTestGateway({
    routes: [{
      name: "mcp",
      matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
      policies: {
        jwtAuthentication: {
          providers: [{
            issuer: `${idp.origin}/`,
            audiences: ["https://gw.example/mcp"],
            jwks: { url: `${idp.origin}/jwks.json` },
          }],
          mcp: { provider: "IdpA" },
        },
        directResponse: { status: 200 },
      },
    }, {
      name: "everything-else",
      policies: { directResponse: { status: 200, body: "another server" } },
    }],
  });

  for (const path of ["openid-configuration", "oauth-protected-resource/b"]) {
    const { text } = await fetchText(`${gateway.origin}/.well-known/${path}`);
    assert.equal(text, "another server");
  }
});

async function fetchText(url: string) {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}
