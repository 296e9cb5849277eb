import type { JsonObject } from "../../base/json.ts";
import type {
  ProviderAdapter,
  ProviderSettings,
} from "../../identity/providers/provider.ts";

/**
 * The document of RFC 9728 for an MCP server.
 * @param overrides In camel or snake case; they win. Empty lists are left out.
 */
export function protectedResourceMetadata(
  resource: string,
  authorizationServer: string,
  overrides: JsonObject,
): JsonObject {
  const document = {
    resource,
    authorization_servers: [authorizationServer],
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
  /** The gateway's own, when it stands in for the provider. */
  readonly issuer: string | undefined;
  /** Set when clients register with the gateway. */
  readonly registrationUrl: string | undefined;
}

/** The document of RFC 8414 as MCP clients need it, from that of the provider. */
export function adaptServerMetadata(
  metadata: JsonObject,
  { adapter, provider, issuer, registrationUrl }: MetadataAdaptation,
): JsonObject {
  const adapted: Record<string, unknown> = {
    ...adapter?.adaptMetadata(metadata, provider) ?? metadata,
  };
  // Both known providers support PKCE; clients refuse a server that does not say so.
  if (adapter !== undefined) {
    adapted.code_challenge_methods_supported ??= ["S256"];
  }
  // What the provider signed would count in place of all that is changed here (RFC 8414 section 2.1).
  delete adapted.signed_metadata;
  if (registrationUrl !== undefined) {
    adapted.registration_endpoint = registrationUrl;
  }
  if (issuer !== undefined) {
    adapted.issuer = issuer;
    // The provider would send its own `iss`, which no client could match with ours (RFC 9207).
    delete adapted.authorization_response_iss_parameter_supported;
  }
  return adapted;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
