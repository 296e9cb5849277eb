/** Set-ups of MCP logins that are broken in one way each, as users have them: the doctor names the fault, and how to fix it. */
import assert from "node:assert/strict";
import { examine } from "../../../cli/mcp/examine.ts";
import { browserCommand } from "../../../cli/mcp/open_browser.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../../cli/dev/mock_idp_b.ts";
import { logIn } from "../../harness/browser/browser_user.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  protectedConfig,
  type Protection,
  startProtectedGateway,
} from "../../harness/gateway/protected_gateway.ts";
import { startProxiedGateway } from "../../harness/gateway/proxied_gateway.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { freePort } from "../../harness/process/free_port.ts";

/** Does in the browser what a user does, up to the page of gwctl. */
async function openBrowser(url: string): Promise<void> {
  await (await fetch(await logIn(url))).body?.cancel();
}

interface RunningSetup extends AsyncDisposable {
  readonly url: string;
  readonly clientId?: string;
}

interface BrokenSetup {
  readonly name: string;
  /** ID of the check that fails. */
  readonly id: string;
  /** Matches what the user reads. */
  readonly says: RegExp;
  /** A user logs in, too. */
  readonly login?: true;
  readonly isProbable?: true;
  start(): Promise<RunningSetup>;
}

/** Starts a gateway with a provider of the kind `IdpA`. */
async function withIdpA(
  mcp: Readonly<Record<string, unknown>>,
  protection: Partial<Protection> = {},
  options: Parameters<typeof startIdpA>[0] = {},
): Promise<RunningSetup> {
  const idp = await startIdpA(options);
  return await startProtectedGateway(idp, {
    provider: "IdpA",
    mcp,
    ...protection,
  });
}

/** Starts a server whose documents are those of a provider of another make; `issuer` and endpoints are its origin. */
function withDocuments(
  change: (documents: {
    readonly resource: Record<string, unknown>;
    readonly server: Record<string, unknown>;
  }) => void,
  error?: string,
): Promise<RunningSetup> {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => {
      const { origin, pathname } = new URL(request.url);
      const documents = {
        resource: {
          resource: `${origin}/mcp`,
          authorization_servers: [origin],
        } as Record<string, unknown>,
        server: {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
        } as Record<string, unknown>,
      };
      change(documents);
      if (pathname.includes("protected-resource")) {
        return Response.json(documents.resource);
      }
      if (pathname.includes("authorization-server")) {
        return Response.json(documents.server);
      }
      if (pathname === "/register") {
        const callbacks = ["http://127.0.0.1:33418/callback"];
        return Response.json({ client_id: "c", redirect_uris: callbacks });
      }
      if (pathname === "/authorize" && error !== undefined) {
        return new Response(error, { status: 400 });
      }
      return new Response("{}", {
        status: pathname === "/mcp" ? 401 : 200,
        headers: {
          "www-authenticate":
            `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
        },
      });
    },
  );
  return Promise.resolve({
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}

const setups: readonly BrokenSetup[] = [
  {
    name: "the certificate is that of a private authority",
    id: "unknown-certificate",
    says: /DENO_CERT/,
    async start() {
      const authority = await createAuthority();
      const own = await authority.issueServer(["localhost"]);
      const server = Deno.serve(
        { port: 0, hostname: "127.0.0.1", onListen: () => {}, ...own },
        () => new Response(null, { status: 401 }),
      );
      return {
        url: `https://localhost:${server.addr.port}/mcp`,
        [Symbol.asyncDispose]: () => server.shutdown(),
      };
    },
  },
  {
    name: "`resource` is an internal hostname",
    id: "resource-internal",
    says:
      /mcp\.internal.* dns error.*address inside.*resourceMetadata\.resource/s,
    start: () =>
      withIdpA({
        resourceMetadata: { resource: "http://mcp.internal:3000/mcp" },
      }),
  },
  {
    name: "`resource` is an address behind the proxy",
    id: "resource-internal",
    says: /address inside/,
    start: () =>
      withDocuments(({ resource }) => {
        resource["resource"] = "http://10.0.0.7:3000/mcp";
      }),
  },
  {
    name: "the host of `resource` cannot be resolved",
    id: "resource-internal",
    says: /the host "mcp\.invalid" cannot be resolved: .*ENOTFOUND/,
    start: () =>
      withDocuments(({ resource }) => {
        resource["resource"] = "http://mcp.invalid/mcp";
      }),
  },
  {
    name: "`resource` has http, and the URL https",
    id: "resource-scheme",
    says: /X-Forwarded-Proto/,
    start: () =>
      withDocuments(({ resource }) => {
        resource["resource"] = String(resource["resource"])
          .replace("http:", "https:");
      }),
  },
  {
    name: "the metadata are those of another issuer",
    id: "issuer-mismatch",
    says: /other\.example, expected http:/,
    start: () =>
      withDocuments(({ server }) => {
        server["issuer"] = "https://other.example";
      }),
  },
  {
    name: "the provider has no PKCE",
    id: "no-pkce",
    says: /List S256/,
    start: () =>
      withDocuments(({ server }) => {
        delete server["code_challenge_methods_supported"];
      }),
  },
  {
    name: "pages of other origins cannot read the metadata",
    id: "no-cors",
    says: /Access-Control-Allow-Origin/,
    start: () => withDocuments(() => {}),
  },
  {
    name: "the provider cannot be reached",
    id: "provider-unreachable",
    says: /refused.*authorization_servers/is,
    async start() {
      const idp = await startIdpA();
      const gateway = await startProtectedGateway(idp, {
        provider: "IdpA",
        mcp: { issuerMode: "Upstream" },
      });
      await idp.stop();
      return gateway;
    },
  },
  {
    name: "clients cannot register",
    id: "no-registration",
    says: /client ID.*issuerMode Proxied/,
    start: () =>
      withIdpA({ issuerMode: "Upstream" }, {}, { registration: false }),
  },
  {
    name: "registration needs a token that clients do not have",
    id: "registration-closed",
    says: /mcp\.clients\.registration.*--client-id/,
    async start() {
      const { gateway, ...site } = await startProxiedGateway({
        mcp: {
          clients: { registration: "Token", registrationTokens: ["a token"] },
        },
      });
      const { url } = gateway;
      return {
        url,
        [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: "the callback is not registered",
    id: "callback-not-registered",
    says: /33418\/callback.*Register the callback.*"desk"/s,
    async start() {
      const client = {
        client_id: "desk",
        redirect_uris: ["https://desk.example/callback"],
        token_endpoint_auth_method: "none",
      };
      const mode = { issuerMode: "Upstream" };
      const running = await withIdpA(mode, {}, { clients: [client] });
      return { ...running, clientId: "desk" };
    },
  },
  {
    name: "the provider does not know the client",
    id: "unknown-client",
    says: /does not know the client ID "nobody"/,
    async start() {
      const running = await withIdpA({ issuerMode: "Upstream" });
      return { ...running, clientId: "nobody" };
    },
  },
  {
    name: "the provider sends iss, and the metadata are those of the gateway",
    id: "iss-mismatch",
    says: /sends iss.*issuerMode Proxied/s,
    isProbable: true,
    start: () => withIdpA({ issuerMode: "Gateway" }, {}, { sendsIssuer: true }),
  },
  {
    name: "the MCP server is down",
    id: "backend-down",
    says: /login works, but the MCP server behind/,
    login: true,
    async start() {
      const idp = await startIdpA();
      const port = freePort();
      const url = `http://127.0.0.1:${port}/mcp`;
      const gateway = await startTestGateway(
        protectedConfig(idp, {
          provider: "IdpA",
          url,
          upstream: `http://127.0.0.1:${freePort()}`,
        }),
        { port },
      );
      return {
        url,
        async [Symbol.asyncDispose]() {
          await gateway[Symbol.asyncDispose]();
          await idp[Symbol.asyncDispose]();
        },
      };
    },
  },
  {
    name: "the URL of the keys is wrong",
    id: "keys-unavailable",
    says: /correct `jwks\.url` to `jwks_uri`/,
    login: true,
    async start() {
      const idp = await startIdpA();
      return await startProtectedGateway(
        { ...idp, jwksPath: "/nothing" },
        { provider: "IdpA" },
      );
    },
  },
  {
    name: "the keys are those of another project",
    id: "unknown-key",
    says: /another project or tenant/,
    login: true,
    async start() {
      const idp = await startIdpA();
      const other = await startIdpA();
      const gateway = await startProtectedGateway(
        { ...idp, origin: other.origin },
        { provider: "IdpA" },
      );
      return {
        url: gateway.url,
        async [Symbol.asyncDispose]() {
          await gateway[Symbol.asyncDispose]();
          await other[Symbol.asyncDispose]();
        },
      };
    },
  },
  {
    name: "tokens are for another audience",
    id: "wrong-audience",
    says: /List `aud`/,
    login: true,
    async start() {
      const idp = await startIdpB({ sendsIssuer: false });
      const gateway = await startProtectedGateway(idp, {
        provider: "IdpB",
        audience: "https://other.example/mcp",
      });
      return { ...gateway, clientId: idp.clientId };
    },
  },
  {
    name: "the issuer has no slash at its end",
    id: "wrong-issuer",
    says: /slashes at the end/,
    login: true,
    async start() {
      const idp = await startIdpA();
      const issuer = idp.issuer.replace(/\/$/, "");
      return await startProtectedGateway({ ...idp, issuer }, {
        provider: "IdpA",
      });
    },
  },
  {
    name: "the provider issues opaque tokens",
    id: "opaque-token",
    says: /without an audience/,
    login: true,
    start: () => withIdpA({ issuerMode: "Upstream" }),
  },
  {
    name: "a rule denies the user",
    id: "not-allowed",
    says: /gwctl explain/,
    login: true,
    start: () => withIdpA({}, { rules: ["'admin' in jwt.permissions"] }),
  },
];

for (const { name, id, says, login, isProbable, start } of setups) {
  Deno.test(`the doctor finds that ${name}`, async () => {
    await using setup = await start();

    const { findings, clients } = await examine(setup.url, {
      clientId: setup.clientId,
      openBrowser: login && openBrowser,
    });

    const found = findings.find((finding) =>
      finding.id === id && finding.verdict !== "ok"
    );
    assert(found !== undefined, JSON.stringify(findings, null, 1));
    assert.match(`${found.seen} ${found.fix}`, says);
    assert.equal(found.isProbable, isProbable);
    if (found.verdict === "error") {
      const [strict] = clients.filter(({ client }) => /SDK 2/.test(client));
      assert.deepEqual(strict?.getsIn, false);
      assert.equal(strict.isProbable, isProbable === true);
    }
    // Nothing else is called broken, except what follows.
    const errors = findings.filter(({ verdict }) => verdict === "error");
    assert(errors.length <= 2, JSON.stringify(errors, null, 1));
  });
}

Deno.test("without a login, the doctor says that clients probably get in", async () => {
  await using setup = await startProxiedGateway();

  const { clients } = await examine(setup.gateway.url);
  assert(clients.every(({ getsIn, isProbable }) => getsIn && isProbable));
  const tried = await examine(setup.gateway.url, { openBrowser });
  assert(
    tried.clients.every(({ getsIn, isProbable }) => getsIn && !isProbable),
  );
});

Deno.test("the browser is that of $BROWSER, and the URL one argument of it", () => {
  const url = "https://login.example/?a=1&b=$(id)";
  assert.deepEqual(browserCommand("firefox", url), ["firefox", url]);
  assert.deepEqual(browserCommand("open -a %s:lynx", url), ["open", "-a", url]);
  assert.deepEqual(browserCommand("", url).at(-1), url);
});
