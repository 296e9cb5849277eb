/** Backends whose tokens need an assertion of the identity provider about the caller (enterprise-managed authorization). */
import assert from "node:assert/strict";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  createTokenIssuer,
  jwksOf,
  type TokenIssuer,
} from "../../harness/login/tokens.ts";

const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const RESOURCE = "https://crm.example/mcp";

interface TokenCall {
  readonly form: Readonly<Record<string, string>>;
  readonly authorization: string | null;
}

/** Starts an authorization server that records requests for tokens. */
function startServer(
  respond: (form: Readonly<Record<string, string>>) => Response,
) {
  const calls: TokenCall[] = [];
  const server = serveLoopback(0, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname !== "/token") {
      await request.body?.cancel();
      return Response.json({
        issuer: server.origin,
        token_endpoint: `${server.origin}/token`,
      });
    }
    const form = Object.fromEntries(new URLSearchParams(await request.text()));
    const authorization = request.headers.get("authorization");
    calls.push({ form, authorization });
    return respond(form);
  });
  return {
    origin: server.origin,
    calls,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** Starts provider, authorization server, backend and gateway; the assertion for a token is `jag:` and the token. */
async function setUp(assertion: Readonly<Record<string, unknown>> = {}) {
  await using opening = new AsyncDisposableStack();
  const users = await createTokenIssuer();
  const provider = opening.use(
    startServer(({ subject_token: token }) =>
      Response.json({
        issued_token_type: ID_JAG,
        token_type: "N_A",
        access_token: `jag:${token}`,
        expires_in: 300,
        ...assertion,
      })
    ),
  );
  const crm = opening.use(
    startServer(({ assertion = "" }) =>
      assertion.startsWith("jag:")
        ? Response.json({
          token_type: "Bearer",
          access_token: `crm:${assertion.slice(-12)}`,
          expires_in: 300,
        })
        : Response.json({ error: "invalid_grant" }, { status: 400 })
    ),
  );
  const reached: (string | null)[] = [];
  const backend = serveLoopback(0, async (request) => {
    await request.body?.cancel();
    reached.push(request.headers.get("authorization"));
    return new Response("in");
  });
  opening.defer(() => backend.close());
  const gateway = opening.use(
    await startTestGateway({
      config: { workers: 1 },
      backends: [{
        name: "crm",
        static: {
          host: "127.0.0.1",
          port: Number(new URL(backend.origin).port),
        },
        credentials: {
          identityAssertion: {
            issuer: crm.origin,
            clientId: "crmgateway",
            clientSecret: { key: "planted crm secret" },
            resource: RESOURCE,
            scopes: ["crm.read"],
            identityProvider: {
              issuer: provider.origin,
              clientId: "gateway",
              clientSecret: { key: "planted idp secret" },
            },
          },
        },
      }],
      routes: [{
        policies: {
          jwtAuthentication: {
            providers: [{
              issuer: users.issuer,
              audiences: ["https://gw.example/mcp"],
              jwks: { inline: jwksOf(users) },
            }],
          },
        },
        backends: [{ backend: "crm" }],
      }],
    }),
  );
  const open = opening.move();
  return {
    users,
    provider,
    crm,
    reached,
    gateway,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function callAs(origin: string, users: TokenIssuer, sub: string) {
  const token = await users.sign({ sub });
  const response = await fetch(origin, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { token, status: response.status, text: await response.text() };
}

Deno.test("each caller reaches the service with a token for an assertion about it", async () => {
  await using site = await setUp();
  const { users, provider, crm, gateway, reached } = site;

  const ann = await callAs(gateway.origin, users, "ann");
  const again = await callAs(gateway.origin, users, "ann");
  const bob = await callAs(gateway.origin, users, "bob");

  assert.deepEqual([ann, again, bob].map(({ status }) => status), [
    200,
    200,
    200,
  ]);
  assert.deepEqual(reached, [
    `Bearer crm:${ann.token.slice(-12)}`,
    `Bearer crm:${ann.token.slice(-12)}`,
    `Bearer crm:${bob.token.slice(-12)}`,
  ]);
  const [first] = provider.calls;
  assert.deepEqual(first, {
    authorization: `Basic ${btoa("gateway:planted+idp+secret")}`,
    form: {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: ann.token,
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      requested_token_type: ID_JAG,
      audience: crm.origin,
      resource: RESOURCE,
      scope: "crm.read",
    },
  });
  assert.deepEqual(crm.calls[0], {
    authorization: `Basic ${btoa("crmgateway:planted+crm+secret")}`,
    form: {
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: `jag:${ann.token}`,
      resource: RESOURCE,
      scope: "crm.read",
    },
  });
});

for (
  const [name, response, status] of [
    ["an access token", {
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
    }, 502],
    ["a bearer token", { token_type: "Bearer" }, 503],
    ["something that is no assertion", { access_token: "x" }, 403],
  ] as const
) {
  Deno.test(`${name} in place of an assertion does not reach the service`, async () => {
    await using site = await setUp(response);

    const result = await callAs(site.gateway.origin, site.users, "ann");

    assert.equal(result.status, status);
    assert.deepEqual(site.reached, []);
    assert.ok(!/planted|eyJ/.test(result.text + site.gateway.log.join()));
  });
}
