import type { ConfiguredClient } from "../../identity/oauth/clients/token_clients.ts";
import {
  type PolicyOptions,
  type PolicyProblem,
  type SecretAccess,
  UnusableReferenceError,
} from "../contract/policy_kind.ts";
import { keySource } from "./jwt_keys.ts";
import type { JwtAuthentication } from "./schema/jwt_schema.ts";
import type { MachineAccess } from "./mcp_login.ts";
import {
  TOKEN_CLIENT_ENTRY,
  type TokenClientConfig,
} from "./schema/token_clients_schema.ts";

type Mcp = NonNullable<JwtAuthentication["mcp"]>;

const MIN_SECRET = 16;

/** Returns the clients and identity providers of a configuration. @throws {UnusableReferenceError} When a Secret cannot be used. */
export function machineAccess(
  { tokenClients = [], assertionIssuers = [] }: Mcp,
  options: PolicyOptions,
): MachineAccess {
  return {
    configured: tokenClients.map((client) => clientOf(client, options)),
    issuers: assertionIssuers.map(({ issuer, jwks }) => ({
      issuer,
      keys: keySource(jwks, options),
    })),
  };
}

function clientOf(
  config: TokenClientConfig,
  options: PolicyOptions,
): ConfiguredClient {
  const { clientId: id, jwks, scopes, clientCredentials } = config;
  return {
    id,
    authentication: jwks === undefined
      ? { method: "secret", secret: secretOf(config, options) }
      : { method: "private_key_jwt", keys: keySource(jwks, options) },
    scopes,
    actsForItself: clientCredentials,
  };
}

/** @throws {UnusableReferenceError} */
function secretOf(
  { clientSecret, clientSecretRef: ref }: TokenClientConfig,
  { readSecret }: SecretAccess,
): string {
  if (ref === undefined) return clientSecret ?? "";
  const secret = readSecret(ref, TOKEN_CLIENT_ENTRY).trim();
  if (secret.length >= MIN_SECRET) return secret;
  throw new UnusableReferenceError(
    `entry "${
      ref.key ?? TOKEN_CLIENT_ENTRY
    }" of Secret "${ref.name}" is shorter than ${MIN_SECRET} characters`,
  );
}

/** Finds Secrets of clients that cannot be used; the policy denies every request then. */
export function checkTokenClientRefs(
  { tokenClients = [] }: Mcp,
  secrets: SecretAccess,
): readonly PolicyProblem[] {
  return tokenClients.flatMap((client, index) => {
    try {
      if (client.jwks === undefined) secretOf(client, secrets);
      return [];
    } catch (error) {
      if (!(error instanceof UnusableReferenceError)) throw error;
      const path = ["mcp", "tokenClients", index, "clientSecretRef"];
      return [{ path, message: `Cannot use the secret: ${error.message}` }];
    }
  });
}

/** Returns the issuers that claims of tokens for machines and asserted users have, besides those of the providers. */
export function assertedIssuers(
  { tokenClients = [], assertionIssuers = [] }: Mcp,
): readonly string[] {
  return [
    ...assertionIssuers.map(({ issuer }) => issuer),
    // Such tokens are issued by the gateway itself.
    ...(tokenClients.some(({ clientCredentials }) => clientCredentials)
      ? ["gateway"]
      : []),
  ];
}
