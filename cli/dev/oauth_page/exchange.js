/** What an MCP client does to log its user in (MCP 2025-11-25, Authorization), in the order in which it is done. */
import { ExchangeError, send } from "/steps.js";

const protocolVersion = "2025-11-25";

/**
 * Everything before the user's turn.
 * @param endpoint `{ url, rule, clientId }`; without `clientId` the client registers itself.
 * @returns `{ login, pending }`: where to send the user, and what to come back with.
 */
export async function prepareLogin(endpoint, { user, redirectUri, show }) {
  const resource = await findResource(endpoint, show);
  const metadata = await findServer(resource.authorization_servers[0], show);
  const clientId = endpoint.clientId ??
    await register(metadata, redirectUri, show);
  if (endpoint.clientId !== undefined) {
    show({
      title: "Registration",
      note:
        `Skipped: this provider lets no client register itself. "${clientId}" was registered by hand, as in its console.`,
      isExpected: true,
    });
  }
  const verifier = randomText();
  const pending = {
    endpoint,
    resource: resource.resource,
    issuer: metadata.issuer,
    tokenUrl: metadata.token_endpoint,
    sendsIssuer:
      metadata.authorization_response_iss_parameter_supported === true,
    clientId,
    redirectUri,
    verifier,
    state: randomText(),
  };
  const login = await loginUrl(metadata.authorization_endpoint, pending, user);
  show({
    title: "Login",
    note:
      "The browser leaves for the page of the provider, with the hash of a secret that stays here (PKCE).",
    request: {
      method: "GET",
      url: login.origin + login.pathname,
      body: Object.fromEntries(login.searchParams),
    },
    isExpected: true,
  });
  return { login: login.href, pending };
}

/** Everything after the user's turn; answers whether the user may call the server. */
export async function finishLogin(pending, query, show) {
  const code = readCallback(pending, query, show);
  const token = await tradeCode(pending, code, show);
  const { url, rule } = pending.endpoint;
  const call = (step, headers, message) =>
    send(show, step, {
      method: "POST",
      url,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": protocolVersion,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const opened = await call(
    {
      title: "MCP: initialize",
      note: `The gateway verifies the token, then its rule: ${rule}`,
      expected: [200, 403],
    },
    {},
    {
      id: 1,
      method: "initialize",
      params: {
        protocolVersion,
        capabilities: {},
        clientInfo: { name: "page", version: "1" },
      },
    },
  );
  if (opened.status === 403) return false;
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") };
  await call(
    { title: "MCP: initialized", note: "", expected: [202] },
    session,
    { method: "notifications/initialized" },
  );
  await call(
    {
      title: "MCP: tools/call",
      note: "The MCP server answers; it never saw the token.",
      expected: [200],
    },
    session,
    {
      id: 2,
      method: "tools/call",
      params: { name: "echo", arguments: { text: "Hello" } },
    },
  );
  return true;
}

/** The challenge, and the metadata of the MCP server that it points to (RFC 9728). */
async function findResource({ url }, show) {
  const { headers } = await send(show, {
    title: "MCP without a token",
    note: "The 401 says where to read on: resource_metadata.",
    expected: [401],
  }, {
    method: "POST",
    url,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }),
  });
  const challenge = headers.get("www-authenticate") ?? "";
  const [, metadataUrl] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  if (metadataUrl === undefined) {
    throw new ExchangeError(
      "The 401 has no resource_metadata that this page may read",
    );
  }
  const { body } = await send(show, {
    title: "Protected-resource metadata",
    note: "Which server this is, and who issues tokens for it.",
    expected: [200],
  }, { url: metadataUrl });
  if (body.resource !== url) {
    throw new ExchangeError(
      `The metadata is for "${body.resource}", not for "${url}"`,
    );
  }
  return body;
}

/** The metadata of the issuer, at the places that MCP names, in its order. */
async function findServer(issuer, show) {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const urls = new Set([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]);
  for (const url of urls) {
    const { status, body } = await send(show, {
      title: "Authorization-server metadata",
      note: `Endpoints of the issuer ${issuer}.`,
      expected: [200, 404],
    }, { url });
    if (status === 404) continue;
    if (body.issuer !== issuer) {
      throw new ExchangeError(
        `Issuer mismatch: the metadata is of "${body.issuer}", not of "${issuer}"`,
      );
    }
    return body;
  }
  throw new ExchangeError(`There is no metadata of the issuer "${issuer}"`);
}

async function register(metadata, redirectUri, show) {
  const { body } = await send(show, {
    title: "Registration",
    note: "The gateway answers with the client of its configuration.",
    expected: [201],
  }, {
    method: "POST",
    url: metadata.registration_endpoint,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Page of the playground",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    }),
  });
  return body.client_id;
}

async function loginUrl(endpoint, pending, user) {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(pending.verifier),
  );
  // It may have a query of its own: `audience`, at IdpA.
  const url = new URL(endpoint);
  const parameters = {
    response_type: "code",
    client_id: pending.clientId,
    redirect_uri: pending.redirectUri,
    resource: pending.resource,
    state: pending.state,
    code_challenge: base64Url(new Uint8Array(digest)),
    code_challenge_method: "S256",
    // So that it is the user's turn again although the provider remembers the last one.
    prompt: "login",
    login_hint: user,
  };
  for (const [name, value] of Object.entries(parameters)) {
    url.searchParams.set(name, value);
  }
  return url;
}

function readCallback({ state, issuer, sendsIssuer }, query, show) {
  const problem = callbackProblem(query, { state, issuer, sendsIssuer });
  const shown = Object.fromEntries(query);
  if ("code" in shown) shown.code = "<hidden>";
  show({
    title: "Back from the login",
    note: sendsIssuer
      ? "state is ours, and iss the issuer that was asked (RFC 9207)."
      : "state is ours.",
    request: {
      method: "GET",
      url: location.origin + location.pathname,
      body: shown,
    },
    isExpected: problem === undefined,
    error: problem,
  });
  if (problem !== undefined) throw new ExchangeError(problem);
  return query.get("code");
}

function callbackProblem(query, { state, issuer, sendsIssuer }) {
  if (query.get("state") !== state) {
    return "This is not the answer to the login that this page began";
  }
  if (query.has("iss") ? query.get("iss") !== issuer : sendsIssuer) {
    return `Issuer mismatch: the login was answered by "${
      query.get("iss")
    }", not by "${issuer}"`;
  }
  if (query.has("error")) {
    return `The provider says no: ${query.get("error")}: ${
      query.get("error_description")
    }`;
  }
  return query.has("code") ? undefined : "The provider sent no code";
}

async function tradeCode(pending, code, show) {
  const { body } = await send(show, {
    title: "Token",
    note:
      "The code, with the secret whose hash went first, becomes a token. Its claims are decoded here.",
    expected: [200],
  }, {
    method: "POST",
    url: pending.tokenUrl,
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      client_id: pending.clientId,
      redirect_uri: pending.redirectUri,
      code_verifier: pending.verifier,
      resource: pending.resource,
    }),
  });
  return body.access_token;
}

function randomText() {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64Url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-")
    .replaceAll("/", "_").replaceAll("=", "");
}
