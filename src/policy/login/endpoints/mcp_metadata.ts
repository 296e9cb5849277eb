import type { JsonObject } from "../../../base/json.ts";
import type {
  ProviderAdapter,
  ProviderSettings,
} from "../../../identity/providers/provider.ts";

/**
 * Creates the protected-resource metadata (RFC 9728) of an MCP server.
 * @param overrides Members in camel or snake case, which take precedence. Empty lists are left out.
 */
export function protectedResourceMetadata(
  resource: string,
  authorizationServers: readonly string[],
  overrides: JsonObject,
): JsonObject {
  const document = {
    resource,
    authorization_servers: authorizationServers,
    mcp_protocol_version: "2025-06-18",
    resource_type: "mcp-server",
    bearer_methods_supported: ["header"],
    ...Object.fromEntries(
      Object.entries(overrides).map(([key, value]) => [snakeCase(key), value]),
    ),
  };
  return Object.fromEntries(
    Object.entries(document).filter(([, value]) =>
      !(Array.isArray(value) && value.length === 0)
    ),
  );
}

/** Settings that the provider's document is adapted to. */
export interface MetadataAdaptation {
  readonly adapter: ProviderAdapter | undefined;
  readonly provider: ProviderSettings;
  /** The gateway's own issuer, if it replaces that of the provider. */
  readonly issuer: string | undefined;
  /** Set when clients register with the gateway. */
  readonly registrationUrl: string | undefined;
}

/** Adapts the provider's authorization server metadata (RFC 8414) for MCP clients. */
export function adaptServerMetadata(
  metadata: JsonObject,
  { adapter, provider, issuer, registrationUrl }: MetadataAdaptation,
): JsonObject {
  const adapted: Record<string, unknown> = {
    ...adapter?.adaptMetadata(metadata, provider) ?? metadata,
  };
  // Both known providers support PKCE; clients reject a server whose metadata does not list it.
  if (adapter !== undefined) {
    adapted.code_challenge_methods_supported ??= ["S256"];
  }
  // Signed metadata would take precedence over the changes made here (RFC 8414 section 2.1).
  delete adapted.signed_metadata;
  if (registrationUrl !== undefined) {
    adapted.registration_endpoint = registrationUrl;
  }
  if (issuer !== undefined) {
    adapted.issuer = issuer;
    // The provider would send its own `iss`, which does not match the gateway's issuer (RFC 9207).
    delete adapted.authorization_response_iss_parameter_supported;
  }
  return adapted;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
