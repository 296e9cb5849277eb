/** Authorization servers and identity providers with certificates of a private CA. */
import assert from "node:assert/strict";
import {
  backendOf,
  sendAs,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  createAuthority,
  type KeyPair,
} from "../../harness/login/certificates.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startUserService } from "../../harness/login/user_service.ts";

/** Starts a server of HTTPS. */
function serveTls(
  pair: KeyPair,
  handle: (request: Request) => Response | Promise<Response>,
) {
  return Deno.serve(
    { ...pair, port: 0, hostname: "127.0.0.1", onListen() {} },
    handle,
  );
}

/** Starts a service, and its token endpoint once more, over HTTPS. */
async function startPrivateService(origin: string) {
  const authority = await createAuthority();
  const service = await startUserService({
    clients: [{
      client_id: "gateway",
      client_secret: "a-secret",
      redirect_uris: [`${origin}/connections/callback/default/drive`],
      grant_types: ["authorization_code", "refresh_token"],
    }],
  });
  const server = serveTls(
    await authority.issueServer(["127.0.0.1"]),
    async ({ url, method, headers, body }) => {
      const { pathname } = new URL(url);
      const there = service.idp.origin + pathname;
      return await fetch(there, { method, headers, body });
    },
  );
  return {
    service,
    authority,
    oauth: {
      issuer: service.idp.issuer,
      authorizationEndpoint: `${service.idp.origin}/authorize`,
      tokenEndpoint: `https://127.0.0.1:${server.addr.port}/token`,
      clientId: "gateway",
      clientSecret: { key: "a-secret" },
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await service[Symbol.asyncDispose]();
    },
  };
}

for (
  const { title, trusted, expected } of [
    { title: "its CA is trusted", trusted: "own", expected: 200 },
    { title: "it has no CA of the system", trusted: "none", expected: 403 },
    { title: "another CA is trusted", trusted: "other", expected: 403 },
  ] as const
) {
  Deno.test(`accounts at an authorization server of a private CA: ${title}`, async () => {
    await using site = await startConnectingSite();
    await using stage = await startPrivateService(site.origin);
    const { service, oauth, authority } = stage;
    const other = await createAuthority();
    const { cert } = trusted === "own" ? authority : other;
    const tls = { caCertificateRefs: [{ inline: cert }] };
    await using gateway = await site.start({
      backends: [
        backendOf(service, { ...oauth, ...trusted !== "none" && { tls } }),
      ],
      backend: { backend: "drive" },
    });

    const page = await site.user("anna")
      .connect((await sendAs(site, "anna")).link);
    const { status } = await sendAs(site, "anna");

    assert.equal(status, expected, gateway.log.join("\n"));
    assert.match(
      page.text,
      expected === 200
        ? /Connected\. You can go back/
        : /its authorization server does not respond as it should/,
    );
    assert.equal(service.tokenRequests.length, expected === 200 ? 1 : 0);
  });
}

/** Starts an OpenID provider of a private CA that responds with its metadata, and with a token to POST. */
async function startPrivateProvider() {
  const authority = await createAuthority();
  const server = serveTls(
    await authority.issueServer(["127.0.0.1"]),
    async (request) => {
      const { origin } = new URL(request.url);
      if (request.method === "POST") {
        await request.body?.cancel();
        return Response.json({ access_token: "t1", token_type: "Bearer" });
      }
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/jwks`,
      });
    },
  );
  const caFile = await Deno.makeTempFile();
  await Deno.writeTextFile(caFile, authority.cert);
  return {
    authority,
    caFile,
    issuer: `https://127.0.0.1:${server.addr.port}`,
    async [Symbol.asyncDispose]() {
      await Deno.remove(caFile);
      await server.shutdown();
    },
  };
}

/** Returns where a browser is sent from a page; empty if nowhere. */
async function redirectOf(url: string): Promise<string> {
  const page = await fetch(url, {
    redirect: "manual",
    headers: { accept: "text/html", "sec-fetch-mode": "navigate" },
  });
  await page.body?.cancel();
  return page.headers.get("location") ?? "";
}

Deno.test("users log in on the pages at an identity provider of a private CA in caFile", async () => {
  await using provider = await startPrivateProvider();
  const { issuer, caFile } = provider;
  await using service = await startUserService();
  await using site = await startConnectingSite();
  const visit = async (more: Readonly<Record<string, unknown>>) => {
    const url = `${site.origin}/connections`;
    const logins = [{ issuer, clientId: "gateway", ...more }];
    await using _gateway = await site.start({
      backends: [backendOf(service)],
      backend: { backend: "drive" },
      config: { connections: { url, logins } },
    });
    return await redirectOf(url);
  };

  const trusting = await visit({ caFile });
  const other = await visit({});

  assert(trusting.startsWith(`${issuer}/authorize?`), trusting);
  assert.equal(other, "");
});

Deno.test("users of pages log in at an OpenID provider of a private CA", async () => {
  await using provider = await startPrivateProvider();
  const { issuer, caFile, authority } = provider;
  const visit = async (more: Readonly<Record<string, unknown>>) => {
    await using gateway = await startTestGateway({
      routes: [{
        policies: {
          oidc: { issuer, clientId: "pages", ...more },
          directResponse: { status: 200 },
        },
      }],
    });
    return await redirectOf(gateway.origin);
  };

  const trusting = [
    await visit({ caFile }),
    await visit({ ca: authority.cert }),
  ];
  const other = await visit({});

  for (const location of trusting) {
    assert(location.startsWith(`${issuer}/authorize?`), location);
  }
  assert.equal(other, "");
  for (const text of ["no certificate", PEM.replace("…", "AAAA")]) {
    await assert.rejects(visit({ ca: text }), /Cannot use the CAs: it has /);
  }
});

const PEM = "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n";

Deno.test("users of the admin interface log in at an OpenID provider of a private CA in caFile", async () => {
  await using provider = await startPrivateProvider();
  const { issuer, caFile } = provider;
  const visit = async (more: Readonly<Record<string, unknown>>) => {
    const adminAddr = `127.0.0.1:${freePort()}`;
    const roles = { admin: "jwt.sub == 'anna'" };
    await using _gateway = await GatewayProcess.start({
      config: {
        config: {
          adminAddr,
          adminToken: "0123456789abcdef",
          kv: { path: ":memory:" },
          workers: 1,
          adminLogin: { issuer, clientId: "admin", roles, ...more },
        },
        routes: [{ policies: { directResponse: { status: 200 } } }],
      },
    });
    return await redirectOf(`http://${adminAddr}/ui/login`);
  };

  const trusting = await visit({ caFile });
  const other = await visit({});

  assert(trusting.startsWith(`${issuer}/authorize?`), trusting);
  assert.equal(other, "");
});

Deno.test("the gateway gets tokens for itself at a server of a private CA", async () => {
  await using provider = await startPrivateProvider();
  const { issuer, authority } = provider;
  await using backend = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ headers }) => new Response(headers.get("authorization")),
  );
  const call = async (more: Readonly<Record<string, unknown>>) => {
    await using gateway = await startTestGateway({
      backends: [{
        name: "api",
        static: { host: "127.0.0.1", port: backend.addr.port },
        credentials: {
          clientCredentials: {
            issuer,
            clientId: "gateway",
            clientSecret: { key: "a-secret" },
            ...more,
          },
        },
      }],
      routes: [{ backends: [{ backend: "api" }] }],
    });
    const response = await fetch(gateway.origin);
    return [response.status, await response.text()];
  };
  const caCertificateRefs = [{ inline: authority.cert }];

  const trusting = await call({ tls: { caCertificateRefs } });
  const [status] = await call({});

  assert.deepEqual(trusting, [200, "Bearer t1"]);
  assert.equal(status, 503);
});
