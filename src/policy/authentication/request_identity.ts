import { defineIdentity } from "../identity.ts";
import type { PolicyContext } from "../policy.ts";
import { defineSlot } from "../slot.ts";

/** Verified claims of the token: `jwt` in expressions. Requests with the same token share the object. */
export const jwtClaims = defineIdentity("jwt");

/** Metadata of the API key, without the key: `apiKey` in expressions. */
export const apiKeyMetadata = defineIdentity("apiKey", "metadata", true);

/** `{ username }` of the verified user: `basicAuth` in expressions. */
export const basicAuthUser = defineIdentity("basicAuth", "username");

/** A resource that describes itself to OAuth clients (RFC 9728). */
export interface ProtectedResource {
  /** Returns the URL of its metadata, for `resource_metadata` of a challenge. */
  metadataUrl(context: PolicyContext): string;
  /** Scopes that the metadata lists. */
  readonly scopesSupported: readonly string[];
}

/** The MCP server that a route protects; a challenge for more scopes points to its metadata. */
export const protectedResource = defineSlot<ProtectedResource>(
  "protectedResource",
);
