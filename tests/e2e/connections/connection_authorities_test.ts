/** Authorization servers and identity providers with certificates of a private CA. */
import assert from "node:assert/strict";
import {
  backendOf,
  sendAs,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import {
  createAuthority,
  type KeyPair,
} from "../../harness/login/certificates.ts";
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

Deno.test("users log in on the pages at an identity provider of a private CA in caFile", async () => {
  const authority = await createAuthority();
  await using provider = serveTls(
    await authority.issueServer(["127.0.0.1"]),
    ({ url }) => {
      const { origin } = new URL(url);
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/jwks`,
      });
    },
  );
  const issuer = `https://127.0.0.1:${provider.addr.port}`;
  const caFile = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(caFile, authority.cert);
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
      const page = await fetch(url, { redirect: "manual" });
      await page.body?.cancel();
      return page;
    };

    const trusting = await visit({ caFile });
    const other = await visit({});

    assert.equal(trusting.status, 303);
    const location = trusting.headers.get("location") ?? "";
    assert(location.startsWith(`${issuer}/authorize?`), location);
    assert.equal(other.headers.get("location"), null);
  } finally {
    await Deno.remove(caFile);
  }
});
