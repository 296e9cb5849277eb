import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../../cli/dev/mock_idp_b.ts";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { openPage } from "../../harness/browser/browser.ts";
import { startProtectedGateway } from "../../harness/gateway/protected_gateway.ts";
import { startProxiedGateway } from "../../harness/gateway/proxied_gateway.ts";

for (const provider of ["IdpA", "IdpB"] as const) {
  Deno.test(`web page of another origin discovers, registers, logs in at ${provider} and calls the MCP server`, async () => {
    await using site = await openApp();
    const redirectUris = [`${site.origin}/callback`];
    const idp = provider === "IdpA"
      ? await startIdpA({ redirectUris, permissions: ["call:mcp"] })
      : await startIdpB({ redirectUris, roles: ["editor"] });
    await using gateway = await startProtectedGateway(idp, {
      provider,
      allowOrigins: [site.origin],
      rules: [
        provider === "IdpA"
          ? "'call:mcp' in jwt.permissions"
          : "'editor' in jwt.roles",
      ],
      mcp: { clientId: idp.clientId, registration: "Gateway" },
    });
    const { page, origin } = site;

    const login = await page.evaluate(discover, { url: gateway.url, origin });
    await page.goto(login.authorizationUrl);
    await page.getByRole("button", { name: "Log in and allow" }).click();
    await page.waitForURL(`${origin}/callback?*`);
    const outcome = await page.evaluate(callServer, {
      ...login,
      url: gateway.url,
      origin,
    });

    assert.equal(login.challengeStatus, 401);
    assert.equal(login.registrationStatus, 201);
    assert.deepEqual(outcome, { status: 200, hasSession: true });
  });
}

Deno.test("web page of an origin that is not allowed reads metadata and registers, but calls nothing, with a good token neither", async () => {
  await using site = await openApp();
  const idp = await startIdpB({ machineRoles: ["editor"] });
  await using gateway = await startProtectedGateway(idp, {
    provider: "IdpB",
    allowOrigins: ["https://app.example.com"],
    mcp: { clientId: idp.clientId },
  });
  const { origin } = gateway;
  const token = await idp.issueMachineToken(gateway.url);
  const json = { "content-type": "application/json" };
  const post = { method: "POST", headers: json, body: "{}" };
  const authorization = `Bearer ${token}`;
  const server = `${origin}/.well-known/oauth-authorization-server/mcp`;

  const outcomes = await site.page.evaluate(
    (requests) =>
      Promise.all(requests.map(async ([url, init]) => {
        try {
          return (await fetch(url, init)).status;
        } catch (error) {
          return String(error);
        }
      })),
    [
      [`${origin}/mcp`, post],
      [`${origin}/mcp`, { ...post, headers: { ...json, authorization } }],
      [`${origin}/.well-known/oauth-protected-resource/mcp`, {}],
      [server, { headers: { "mcp-protocol-version": "2025-11-25" } }],
      [`${server}/client-registration`, post],
      [`${origin}/.well-known/oauth-authorization-server`, {
        headers: { "mcp-protocol-version": "2025-11-25" },
      }],
    ] as [string, RequestInit][],
  );

  const failed = "TypeError: Failed to fetch";
  assert.deepEqual(outcomes, [failed, failed, 200, 200, 201, 404]);
  // The preflights were answered, but nothing that follows them reached the server.
  assert.deepEqual(
    gateway.requests().filter((line) => line.startsWith("POST /mcp ")),
    [],
  );
});

/** Runs in the page: what an MCP client does before it sends its user to log in. */
async function discover(
  { url, origin }: { url: string; origin: string },
) {
  const challenged = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  const challenge = challenged.headers.get("www-authenticate") ?? "";
  const [, resourceUrl = ""] = /resource_metadata="([^"]+)"/.exec(challenge) ??
    [];
  const headers = { "mcp-protocol-version": "2025-11-25" };
  const resource = await (await fetch(resourceUrl, { headers })).json();
  const issuer = new URL(resource.authorization_servers[0]);
  const metadataUrl =
    `${issuer.origin}/.well-known/oauth-authorization-server${issuer.pathname}`;
  const metadata = await (await fetch(metadataUrl, { headers })).json();
  const redirectUri = `${origin}/callback`;
  const registration = await fetch(metadata.registration_endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: [redirectUri] }),
  });
  const { client_id: clientId } = await registration.json();
  const verifier = "0123456789".repeat(5);
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(verifier),
  );
  const authorizationUrl = new URL(metadata.authorization_endpoint);
  const query = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    resource: resource.resource,
    code_challenge_method: "S256",
    code_challenge: btoa(String.fromCharCode(...new Uint8Array(digest)))
      .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""),
  };
  for (const [name, value] of Object.entries(query)) {
    authorizationUrl.searchParams.set(name, value);
  }
  return {
    challengeStatus: challenged.status,
    registrationStatus: registration.status,
    authorizationUrl: authorizationUrl.href,
    tokenUrl: String(metadata.token_endpoint),
    clientId: String(clientId),
    verifier,
  };
}

/** Runs in the page, once it is back: trades the code for a token and begins a session. */
async function callServer(
  { tokenUrl, clientId, verifier, url, origin }: {
    tokenUrl: string;
    clientId: string;
    verifier: string;
    url: string;
    origin: string;
  },
) {
  const traded = await fetch(tokenUrl, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: new URLSearchParams(location.search).get("code") ?? "",
      client_id: clientId,
      redirect_uri: `${origin}/callback`,
      code_verifier: verifier,
      resource: url,
    }),
  });
  const { access_token: token } = await traded.json();
  const response = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "page", version: "1.0.0" },
      },
    }),
  });
  return {
    status: response.status,
    hasSession: response.headers.has("mcp-session-id"),
  };
}

interface Site extends AsyncDisposable {
  readonly origin: string;
  readonly page: Page;
}

/** A web application of an origin of its own, open in a browser. */
async function openApp(): Promise<Site> {
  await using opening = new AsyncDisposableStack();
  const app = opening.adopt(
    serveLoopback(0, () =>
      new Response("<!doctype html><title>App</title>", {
        headers: { "content-type": "text/html" },
      })),
    (app) => app.close(),
  );
  const { page } = opening.use(await openPage());
  await page.goto(app.origin);
  const open = opening.move();
  return {
    origin: app.origin,
    page,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

Deno.test("a browser logs a client in through the consent page of issuer mode Proxied", async () => {
  await using server = await startProxiedGateway();
  await using site = await openApp();
  const { page, origin } = site;
  const redirectUri = `${origin}/callback`;
  const { body } = await server.register({
    client_name: "Editor",
    redirect_uris: [redirectUri],
  });
  const url = server.authorizeUrl(String(body.client_id), {
    redirect_uri: redirectUri,
  });

  await page.goto(url);
  const heading = await page.getByRole("heading").innerText();
  await page.getByRole("button", { name: "Continue to login" }).click();
  await page.getByRole("button", { name: "Log in and allow" }).click();
  await page.waitForURL(`${origin}/callback?*`);
  const code = new URL(page.url()).searchParams.get("code") ?? "";
  const redeemed = await server.redeem(String(body.client_id), code, {
    redirect_uri: redirectUri,
  });

  assert.match(heading, /“Editor” wants to use http.*\/mcp as you/);
  assert.equal(redeemed.status, 200);
});
