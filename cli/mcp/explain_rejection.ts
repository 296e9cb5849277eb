import { McpError } from "./mcp_session.ts";
import type { ProbeError } from "./probe.ts";

/** A cause of a rejected token, found in the message of the server. */
interface Cause {
  readonly id: string;
  readonly status: RegExp;
  readonly message: RegExp;
  readonly fix: string;
}

const causes: readonly Cause[] = [
  {
    id: "opaque-token",
    status: /401/,
    message: /opaque/,
    fix:
      "The provider issued a token without an audience: set `audiences` with issuerMode Proxied or Gateway, have it issue JWTs for the resource, or set `introspection`.",
  },
  {
    id: "wrong-issuer",
    status: /401/,
    message: /issuer/,
    fix:
      "Make `issuer` of jwtAuthentication equal to `iss` of the token, character by character; slashes at the end count.",
  },
  {
    id: "wrong-audience",
    status: /401/,
    message: /audience/,
    fix:
      "List `aud` of the token in `audiences` of jwtAuthentication, or register the URL of the MCP server at the provider; slashes at the end count.",
  },
  {
    id: "clock-skew",
    status: /401/,
    message: /expired|in the future|not valid yet/,
    fix:
      "The clocks of provider and server differ: fix them (NTP), or until then set `clockSkew`.",
  },
  {
    id: "unknown-key",
    status: /401|503/,
    message: /key is unknown|key of the token|signature/,
    fix:
      "The keys at `jwks` are those of another project or tenant: compare with `jwks_uri` of the provider's metadata, and see `gwctl proxy keys`.",
  },
  {
    id: "keys-unavailable",
    status: /503/,
    message: /keys of the identity provider/,
    fix:
      "The server cannot read the keys of the provider: correct `jwks.url` to `jwks_uri` of the provider's metadata, and see `gwctl proxy keys`.",
  },
  {
    id: "missing-scope",
    status: /403/,
    message: /scope/,
    fix:
      "List the scope in `scopesSupported` of the resource metadata, so that clients request it.",
  },
  {
    id: "not-allowed",
    status: /403/,
    message: /(?:)/,
    fix:
      "A rule denies this user: compare it with the claims of the token; on this gateway, `gwctl explain` says which.",
  },
  {
    id: "backend-down",
    status: /50[0234]/,
    message: /(?:)/,
    fix:
      "The login works, but the MCP server behind does not respond: start it, and see `gwctl backends` and `gwctl mcp servers`.",
  },
  {
    id: "no-mcp-server",
    status: /404|405/,
    message: /(?:)/,
    fix:
      "The login works, but there is no MCP server at this address: check the path of the route and of the backend.",
  },
];

const unknown = {
  id: "token-refused",
  fix:
    "Compare issuer, audience and rules with the token; on this gateway, `gwctl explain` says which check failed.",
};

/** IDs of all causes. */
export const rejectionIds: readonly string[] = [
  unknown.id,
  ...causes.map(({ id }) => id),
];

/** Explains why a server does not accept the token of a login that has just succeeded. */
export function explainRejection(
  error: McpError | ProbeError,
): { readonly id: string; readonly fix: string; readonly seen: string } {
  const { message } = error;
  const status = error instanceof McpError ? String(error.status) : "";
  const { id, fix } =
    causes.find((cause) =>
      cause.status.test(status) && cause.message.test(message)
    ) ?? unknown;
  return { id, fix, seen: message };
}
