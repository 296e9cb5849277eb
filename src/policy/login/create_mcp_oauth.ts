import { signatureAlgorithms } from "../../identity/keys/public_key.ts";
import type { TokenVerifier } from "../../identity/tokens/token_verifier.ts";
import type { PolicyOptions } from "../contract/policy_kind.ts";
import { linesOf, readSecretRef } from "./jwt_checks.ts";
import { jwksServer } from "./jwt_keys.ts";
import type { JwtAuthentication } from "./schema/jwt_schema.ts";
import { issuersOf, loginProviderIndex } from "./login_provider.ts";
import { machineAccess } from "./machine_access.ts";
import type { LoginSecrets } from "./mcp_login.ts";
import { McpOAuth } from "./mcp_oauth.ts";

/** Members of RFC 9449 section 5.3 for servers that require bound tokens. */
const bindingMetadata = {
  dpop_bound_access_tokens_required: true,
  dpop_signing_alg_values_supported: [...signatureAlgorithms],
};

/** Creates the OAuth endpoints of an MCP server; `undefined` without an `mcp` block. */
export function createMcpOAuth(
  config: JwtAuthentication,
  verifier: TokenVerifier,
  options: PolicyOptions,
): McpOAuth | undefined {
  const { mcp, providers, tokenBinding } = config;
  const provider = providers[loginProviderIndex(config)];
  if (mcp === undefined || provider === undefined) return undefined;
  const resourceMetadata = {
    ...(tokenBinding?.mode === "Required" && bindingMetadata),
    ...mcp.resourceMetadata,
  };
  return new McpOAuth({ ...mcp, resourceMetadata }, {
    issuer: provider.issuer,
    otherIssuers: issuersOf(providers)
      .filter((issuer) => issuer !== provider.issuer),
    audience: provider.audiences?.[0],
    server: provider.jwks && jwksServer(provider.jwks, options),
    services: options.services,
    secrets: loginSecrets(mcp, options),
    machines: machineAccess(mcp, options),
    tokens: {
      introspects: provider.introspection !== undefined,
      verify: (token) => verifier.verify(token),
    },
  });
}

/** Reads the secrets of issuer mode `Proxied`, whose files the check of the configuration has validated. */
function loginSecrets(
  mcp: NonNullable<JwtAuthentication["mcp"]>,
  options: PolicyOptions,
): LoginSecrets {
  const { clientSecret, clientSecretFile, stateSecret, stateSecretFile } = mcp;
  const { readFile } = options;
  const clientText = clientSecretFile === undefined
    ? readSecretRef(mcp, "clientSecretRef", options)
    : readFile(clientSecretFile);
  const stateText = stateSecretFile === undefined
    ? readSecretRef(mcp, "stateSecretRef", options)
    : readFile(stateSecretFile);
  return {
    clientSecret: clientText?.trim() ?? clientSecret,
    stateSecrets: stateText === undefined
      ? [stateSecret].filter((secret) => secret !== undefined)
      : linesOf(stateText),
  };
}
