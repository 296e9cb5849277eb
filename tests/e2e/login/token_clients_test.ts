/** Clients that authenticate at the token endpoint of issuer mode `Proxied`: with secrets, with keys, and with assertions about users. */
import {
  Client,
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { join } from "node:path";
import { exportJWK, exportPKCS8, generateKeyPair, SignJWT } from "jose";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { protectedConfig } from "../../harness/gateway/protected_gateway.ts";
import {
  loginSteps,
  REDIRECT_URI,
} from "../../harness/gateway/proxied_gateway.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";
import { freePort } from "../../harness/process/free_port.ts";

const secret = "a secret of the machine+/";
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** Starts a gateway with two workers, whose clients have a secret, a key, or a document with a key. */
async function startSite(mcp: Readonly<Record<string, unknown>> = {}) {
  const url = `http://127.0.0.1:${freePort()}/mcp`;
  const steps = loginSteps(url);
  const stack = new AsyncDisposableStack();
  const idp = stack.use(
    await startIdpA({
      registration: false,
      redirectUris: [`${steps.base}/callback`],
    }),
  );
  const server = stack.adopt(startMcpServer(), (server) => server.close());
  const keys = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...await exportJWK(keys.publicKey), kid: "c1" };
  const enterprise = await createTokenIssuer({
    issuer: "https://idp.enterprise.example",
  });
  const documents = stack.use(await serveDocuments(jwk));
  const config = protectedConfig(idp, {
    provider: "IdpA",
    url,
    upstream: server.origin,
    mcp: {
      issuerMode: "Proxied",
      clientId: idp.clientId,
      scopes: ["offline_access", "openid"],
      resourceMetadata: { resource: url },
      clientMetadataHosts: [documents.host],
      tokenClients: [
        {
          clientId: "machine",
          clientSecret: secret,
          scopes: ["read", "write"],
        },
        {
          clientId: "signer",
          jwks: { inline: JSON.stringify({ keys: [jwk] }) },
        },
        {
          clientId: "assistant",
          clientSecret: secret,
          scopes: ["read"],
          clientCredentials: false,
        },
      ],
      assertionIssuers: [{
        issuer: enterprise.issuer,
        jwks: { inline: jwksOf(enterprise) },
      }],
      ...mcp,
    },
    config: { workers: 2 },
  });
  stack.use(
    await GatewayProcess.start({
      config,
      port: Number(new URL(url).port),
      env: { SSL_CERT_FILE: documents.authorityFile },
    }),
  );
  const sign = (
    id: string,
    claims: Readonly<Record<string, unknown>> = {},
    key = keys.privateKey,
  ) =>
    new SignJWT({
      iss: id,
      sub: id,
      aud: url,
      jti: crypto.randomUUID(),
      ...claims,
    }).setProtectedHeader({ alg: "ES256", kid: "c1" })
      .setIssuedAt().setExpirationTime("60s").sign(key);
  const idJag = (
    claims: Readonly<Record<string, unknown>> = {},
    header: Readonly<Record<string, unknown>> = {},
  ) =>
    enterprise.sign({
      sub: "anna",
      aud: url,
      client_id: "assistant",
      resource: url,
      scope: "read",
      jti: crypto.randomUUID(),
      iat: Math.floor(Date.now() / 1000),
      ...claims,
    }, { typ: "oauth-id-jag+jwt", ...header });
  return {
    url,
    steps,
    keys,
    sign,
    idJag,
    documents,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Serves the documents of two clients, with their keys inside and at a URL. */
async function serveDocuments(jwk: object) {
  const authority = await createAuthority();
  const pair = await authority.issueServer(["127.0.0.1"]);
  const folder = await Deno.makeTempDir();
  const authorityFile = join(folder, "authority.pem");
  await Deno.writeTextFile(authorityFile, authority.cert);
  const jwks = { keys: [jwk] };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...pair },
    ({ url }) => {
      const { pathname, origin } = new URL(url);
      if (pathname === "/jwks") return Response.json(jwks);
      return Response.json({
        client_id: url,
        client_name: "Signing editor",
        redirect_uris: [REDIRECT_URI],
        token_endpoint_auth_method: "private_key_jwt",
        ...(pathname === "/inline" ? { jwks } : { jwks_uri: `${origin}/jwks` }),
      });
    },
  );
  const host = `127.0.0.1:${server.addr.port}`;
  return {
    host,
    authorityFile,
    inline: `https://${host}/inline`,
    remote: `https://${host}/remote`,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

type Provider = ConstructorParameters<
  typeof StreamableHTTPClientTransport
>[1];

async function toolsOf(url: string, options: Provider): Promise<number> {
  const client = new Client({ name: "machine", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), options),
  );
  const { tools } = await client.listTools();
  await client.close();
  return tools.length;
}

Deno.test({
  name:
    "clients of the SDK log in with a secret, a key, and an assertion about their user",
  // The event stream of the client ends by itself.
  sanitizeResources: false,
  async fn() {
    await using site = await startSite();
    const { url, idJag, keys } = site;

    const found = [
      await toolsOf(url, {
        authProvider: new ClientCredentialsProvider({
          clientId: "machine",
          clientSecret: secret,
          expectedIssuer: url,
        }),
      }),
      await toolsOf(url, {
        authProvider: new PrivateKeyJwtProvider({
          clientId: "signer",
          privateKey: await exportPKCS8(keys.privateKey),
          algorithm: "ES256",
          expectedIssuer: url,
        }),
      }),
      await toolsOf(url, {
        authProvider: new CrossAppAccessProvider({
          clientId: "assistant",
          clientSecret: secret,
          expectedIssuer: url,
          assertion: ({ authorizationServerUrl, resourceUrl }) =>
            idJag({ aud: authorizationServerUrl, resource: resourceUrl }),
        }),
      }),
    ];

    for (const tools of found) assert(tools > 0);
  },
});

Deno.test("a secret and an assertion get tokens for their client alone, with its scopes, in both forms of RFC 6749", async () => {
  await using site = await startSite();
  const { steps, url, sign } = site;
  const grant = { grant_type: "client_credentials" };
  const basic = {
    authorization: `Basic ${
      btoa(`machine:${encodeURIComponent(secret).replaceAll("%20", "+")}`)
    }`,
  };
  const ask = async (
    form: Readonly<Record<string, string | undefined>>,
    headers?: Readonly<Record<string, string>>,
  ) => {
    const { status, body } = await steps.token({ ...grant, ...form }, headers);
    return [status, body.error ?? body.scope];
  };
  const machine = { client_id: "machine", client_secret: secret };
  const used = await sign("signer");
  const signed = (assertion: string) => ({
    client_assertion: assertion,
    client_assertion_type: assertionType,
  });
  const far = Math.floor(Date.now() / 1000) + 7200;

  const answers = [
    await ask({}, basic),
    await ask(machine),
    await ask({ ...machine, scope: "write" }),
    await ask({ ...machine, scope: "admin" }),
    await ask({ ...machine, client_secret: `${secret}x` }),
    await ask({ ...machine, client_secret: undefined }),
    await ask({ ...machine, client_id: "signer" }),
    await ask({ ...machine, client_id: "assistant" }),
    await ask(machine, basic),
    await ask({ client_id: "signer" }, basic),
    await ask({ ...machine, resource: `${url}/other` }),
    await ask(signed(used)),
    await ask(signed(used)),
    await ask(signed(await sign("machine"))),
    await ask(signed(await sign("signer", { aud: "https://other.example" }))),
    await ask(
      signed(await sign("signer", { aud: [url, "https://o.example"] })),
    ),
    await ask(signed(await sign("signer", { jti: undefined }))),
    await ask(signed(await sign("signer", { sub: "machine" }))),
    await ask(signed(await sign("signer", { nbf: far }))),
    await ask({ client_assertion: await sign("signer") }),
    await ask(signed((await sign("signer")).replace(/\.[^.]*$/, "."))),
    await ask(
      signed(
        await sign(
          "signer",
          {},
          (await generateKeyPair("ES256")).privateKey,
        ),
      ),
    ),
  ];

  assert.deepEqual(answers, [
    [200, "read write"],
    [200, "read write"],
    [200, "write"],
    [400, "invalid_scope"],
    [401, "invalid_client"],
    [401, "invalid_client"],
    [401, "invalid_client"],
    [400, "unauthorized_client"],
    [400, "invalid_request"],
    [401, "invalid_client"],
    [400, "invalid_target"],
    [200, undefined],
    ...Array.from({ length: 7 }, () => [401, "invalid_client"]),
    [400, "invalid_request"],
    [401, "invalid_client"],
    [401, "invalid_client"],
  ]);
});

Deno.test("assertions about users are for one use, by one client, at one server, and of the right kind", async () => {
  await using site = await startSite();
  const { steps, url, idJag } = site;
  const exchange = async (
    assertion: string,
    form: Readonly<Record<string, string>> = {},
  ) => {
    const { status, body } = await steps.token({
      grant_type: jwtBearer,
      client_id: "assistant",
      client_secret: secret,
      assertion,
      ...form,
    });
    return { status, body };
  };
  const first = await idJag({ email: "anna@example.com" });
  const now = Math.floor(Date.now() / 1000);

  const { status, body } = await exchange(first);
  const opened = await initializeMcp(site, body.access_token);
  const rejected = [
    await exchange(first),
    await exchange(await idJag({}, { typ: "at+jwt" })),
    await exchange(await idJag({}, { typ: undefined })),
    await exchange(await idJag({ aud: "https://other.example" })),
    await exchange(await idJag({ aud: [url, "https://other.example"] })),
    await exchange(await idJag({ client_id: "machine" })),
    await exchange(await idJag({ client_id: undefined })),
    await exchange(await idJag({ resource: `${url}/other` })),
    await exchange(await idJag({ resource: undefined })),
    await exchange(await idJag({ sub: "" })),
    await exchange(await idJag({ exp: now - 120 })),
    await exchange(await idJag({ exp: now + 7200 })),
    await exchange(await idJag({ jti: undefined })),
    await exchange(await idJag({ iss: "https://evil.example" })),
    await exchange(await idJag({ cnf: { jkt: "x" } })),
    await exchange("nonsense"),
  ];
  const wider = await exchange(await idJag(), { scope: "read admin" });
  const stranger = await exchange(await idJag(), { client_secret: "wrong" });
  const races = await idJag();
  const raced = await Promise.all(
    Array.from({ length: 12 }, () => exchange(races)),
  );

  assert.deepEqual([status, opened.status], [200, 200]);
  assert.equal(body.refresh_token, undefined);
  for (const [at, { status, body }] of rejected.entries()) {
    assert.deepEqual([at, status, body.error], [at, 400, "invalid_grant"]);
  }
  assert.equal(wider.body.error, "invalid_scope");
  assert.equal(stranger.body.error, "invalid_client");
  assert.equal(raced.filter(({ status }) => status === 200).length, 1);
});

Deno.test("a client whose document has keys logs in users, and nobody without the key redeems its codes or uses its tokens", async () => {
  await using site = await startSite();
  const { steps, sign, documents } = site;
  for (const id of [documents.inline, documents.remote]) {
    const signed = async () => ({
      client_assertion: await sign(id),
      client_assertion_type: assertionType,
    });

    const code = await steps.code(id);
    const without = await steps.redeem(id, code);
    const foreign = await steps.redeem(id, code, {
      client_assertion: await sign("signer"),
      client_assertion_type: assertionType,
    });
    const first = await steps.redeem(id, code, await signed());
    const stolen = await steps.refresh(id, first.body.refresh_token);
    const second = await steps.token({
      grant_type: "refresh_token",
      refresh_token: String(first.body.refresh_token),
      ...await signed(),
    });
    const revoked = await steps.revoke(id, second.body.refresh_token);

    assert.deepEqual(
      [without, foreign, first, stolen, second, revoked]
        .map(({ status }) => status),
      [401, 401, 200, 401, 200, 401],
    );
    assert.equal(
      (await initializeMcp(site, second.body.access_token)).status,
      200,
    );
  }
});
