import type { PolicyContext } from "../policy.ts";
import { defineSlot } from "../slot.ts";

/** Properties of an authenticated caller, by name; expressions read them. */
export type Claims = Readonly<Record<string, unknown>>;

/** Verified claims of the token: `jwt` in expressions. The same object for each request with the same token. */
export const jwtClaims = defineSlot<Claims>("jwt");

/** Metadata of the API key, and never the key itself: `apiKey` in expressions. */
export const apiKeyMetadata = defineSlot<Claims>("apiKey");

/** `{ username }` of the verified user: `basicAuth` in expressions. */
export const basicAuthUser = defineSlot<Claims>("basicAuth");

/** Slots of the verified identities; named as the variables of expressions. */
export const identities = [jwtClaims, apiKeyMetadata, basicAuthUser];

/** A resource that describes itself to OAuth clients (RFC 9728). */
export interface ProtectedResource {
  /** Returns the URL of its metadata, for `resource_metadata` of a challenge. */
  metadataUrl(context: PolicyContext): string;
}

/** The MCP server that a route protects; a challenge for more scopes points to its metadata. */
export const protectedResource = defineSlot<ProtectedResource>(
  "protectedResource",
);
