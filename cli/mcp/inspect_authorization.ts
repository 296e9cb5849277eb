import { type JsonObject, stringMember } from "../../src/base/json.ts";
import type { StepFindings } from "./finding.ts";
import { describeProbe, type Probe, probe } from "./probe.ts";

/** An authorization request as MCP clients make it. */
export interface AuthorizationRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly state: string;
  readonly resource: string;
  readonly scope: string | undefined;
}

/** Returns the URL that the browser opens. Existing parameters stay. */
export function authorizationUrl(
  document: JsonObject,
  request: AuthorizationRequest,
): URL | undefined {
  const url = URL.parse(stringMember(document, "authorization_endpoint") ?? "");
  if (url === null) return undefined;
  const parameters = {
    response_type: "code",
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    code_challenge: request.challenge,
    code_challenge_method: "S256",
    state: request.state,
    resource: request.resource,
    ...(request.scope !== undefined && { scope: request.scope }),
  };
  for (const [name, value] of Object.entries(parameters)) {
    url.searchParams.set(name, value);
  }
  return url;
}

/** Opens the first page of the authorization endpoint, and checks that it does not reject the request. */
export async function inspectAuthorization(
  document: JsonObject,
  request: AuthorizationRequest,
  findings: StepFindings,
): Promise<void> {
  const url = authorizationUrl(document, request);
  if (url === undefined) return;
  const common = {
    rule: "The authorization endpoint accepts the request of a client",
    source: "RFC 6749 section 4.1.1",
  };
  const response = await findings.reach(
    () => probe(url.href, { headers: { accept: "text/html" } }),
    {
      ...common,
      id: "authorization-unreachable",
      fix: "Correct authorization_endpoint.",
    },
    `${url.origin}${url.pathname}: `,
  );
  if (response === undefined) return;
  const back = URL.parse(response.headers.get("location") ?? "", url.href);
  const error = back?.href.startsWith(request.redirectUri)
    ? back.searchParams.get("error") ?? undefined
    : undefined;
  findings.check(
    error === undefined && response.status < 400,
    error === undefined ? { ...common, ...explainPage(response, request) } : {
      ...common,
      id: `authorization-${error.replace(/[^a-z_]/g, "").replaceAll("_", "-")}`,
      seen: `error ${error}: ${back?.searchParams.get("error_description")}`,
      fix: fixOf(error),
    },
  );
}

/** Explains an error page: the provider does not send the browser back when it knows neither the client nor its redirect URI. */
function explainPage(
  response: Probe,
  { clientId, redirectUri }: AuthorizationRequest,
) {
  const seen = describeProbe(response);
  if (/redirect.?ur[il]/i.test(response.text)) {
    return {
      id: "callback-not-registered",
      seen: `${seen}, about ${redirectUri}`,
      fix:
        `Register the callback of each client for "${clientId}" at the provider; clients on a user's machine use http://127.0.0.1 or http://localhost with an ephemeral port.`,
    };
  }
  if (
    /invalid.client|client.{0,40}(?:not found|invalid|unknown)/i
      .test(response.text)
  ) {
    return {
      id: "unknown-client",
      seen,
      fix: `The provider does not know the client ID "${clientId}".`,
    };
  }
  return {
    id: "authorization-rejected",
    seen,
    fix:
      "The provider shows an error page: compare client ID and redirect URI with those registered there, and see its log.",
  };
}

function fixOf(error: string): string {
  switch (error) {
    case "invalid_scope":
      return "The provider does not know a scope that the metadata lists: correct scopesSupported.";
    case "invalid_target":
      return "The provider does not know the MCP server as a resource: register its URL there.";
    case "unauthorized_client":
      return "The client may not use the code flow: allow it at the provider.";
    default:
      return "See the log of the authorization server.";
  }
}
