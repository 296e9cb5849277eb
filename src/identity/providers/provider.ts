import type { JsonObject } from "../../base/json.ts";

/** An identity provider as the configuration describes it. */
export interface ProviderSettings {
  /** Such as `https://tenant.example.com/`. */
  readonly issuer: string;
  /** The first of the audiences. */
  readonly audience: string | undefined;
}

/** The differences between identity providers; one file each, listed in `adapters.ts`. */
export interface ProviderAdapter {
  /** Values of `mcp.provider` that select it. */
  readonly names: readonly string[];
  /** Why no token of this provider has that issuer, which is a URL; `undefined` when one may. */
  issuerProblem(issuer: string): string | undefined;
  /** URLs where the authorization-server metadata may lie, tried in order. */
  metadataUrls(issuer: string): readonly string[];
  /** The provider's metadata as MCP clients need it. */
  adaptMetadata(metadata: JsonObject, settings: ProviderSettings): JsonObject;
  /** Whether clients always register with the gateway. */
  readonly registersAtGateway: boolean;
  /** Where the gateway registers clients for which no client id is configured. */
  registrationUrl(issuer: string): string | undefined;
}
