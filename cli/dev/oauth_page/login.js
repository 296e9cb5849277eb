/** Authorization code grant with PKCE (RFC 7636) of a public client. */
import { ExchangeError, send } from "/steps.js";

export async function loginUrl(endpoint, pending, user) {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(pending.verifier),
  );
  // The endpoint may have a query: `audience` at IdpA.
  const url = new URL(endpoint);
  const parameters = {
    response_type: "code",
    client_id: pending.clientId,
    redirect_uri: pending.redirectUri,
    resource: pending.resource,
    state: pending.state,
    code_challenge: base64Url(new Uint8Array(digest)),
    code_challenge_method: "S256",
    // Shows the login page even if the provider remembers a user.
    prompt: "login",
    login_hint: user,
  };
  for (const [name, value] of Object.entries(parameters)) {
    url.searchParams.set(name, value);
  }
  return url;
}

export function readCallback({ state, issuer, sendsIssuer }, query, show) {
  const problem = callbackProblem(query, { state, issuer, sendsIssuer });
  const shown = Object.fromEntries(query);
  if ("code" in shown) shown.code = "<hidden>";
  show({
    title: "Back from the login",
    note: sendsIssuer
      ? "state is the one sent, and iss the expected issuer (RFC 9207)."
      : "state is the one sent.",
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
    return "This is not the response to the login that this page started";
  }
  if (query.has("iss") ? query.get("iss") !== issuer : sendsIssuer) {
    return `Issuer mismatch: the response is from "${
      query.get("iss")
    }", expected "${issuer}"`;
  }
  if (query.has("error")) {
    return `The provider denied the login: ${query.get("error")}: ${
      query.get("error_description")
    }`;
  }
  return query.has("code") ? undefined : "The provider sent no code";
}

export async function tradeCode(pending, code, show) {
  const { body } = await send(show, {
    title: "Token",
    note:
      "Exchanges the code and the secret for a token. Its claims are decoded here.",
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

export function randomText() {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64Url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-")
    .replaceAll("/", "_").replaceAll("=", "");
}
