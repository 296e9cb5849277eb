/** Login of an MCP client (MCP 2025-11-25, Authorization), step by step. */
import { findResource, findServer, register } from "/discovery.js";
import { loginUrl, randomText, readCallback, tradeCode } from "/login.js";
import { ExchangeError, send } from "/steps.js";

const PROTOCOL_VERSION = "2025-11-25";

/**
 * Runs the steps before the user logs in.
 * @param endpoint `{ url, rule, clientId }`; without `clientId` the client registers itself.
 * @returns `{ login, pending }`: the URL for the user, and the state for `finishLogin`.
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
        `Skipped: clients cannot register themselves at this provider. "${clientId}" was registered by hand, as in its console.`,
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
      "The browser goes to the page of the provider, with the hash of a secret that stays here (PKCE).",
    request: {
      method: "GET",
      url: login.origin + login.pathname,
      body: Object.fromEntries(login.searchParams),
    },
    isExpected: true,
  });
  return { login: login.href, pending };
}

/** Runs the steps after the user logged in; returns whether the user may call the server. */
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
        "mcp-protocol-version": PROTOCOL_VERSION,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const opened = await call(
    {
      title: "MCP: initialize",
      note: `The gateway verifies the token, then evaluates its rule: ${rule}`,
      expected: [200, 403],
    },
    {},
    {
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: PROTOCOL_VERSION,
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
  const { body } = await call(
    {
      title: "MCP: tools/call",
      note: "The MCP server responds; it never sees the token.",
      expected: [200],
    },
    session,
    {
      id: 2,
      method: "tools/call",
      params: { name: "echo", arguments: { message: "Hello" } },
    },
  );
  if (body.result === undefined || body.result.isError) {
    throw new ExchangeError("The MCP server reports that the tool failed");
  }
  return true;
}
