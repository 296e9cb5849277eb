import { defineIdentity } from "../contract/identity.ts";
import type { PolicyContext } from "../contract/policy.ts";
import { defineSlot, type Slots } from "../contract/slot.ts";

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

/** Returns the subject of the token, the metadata of the API key without lists and objects, or the name of the user; empty without identity. */
export function clientOf(slots: Slots | undefined): string {
  if (slots === undefined) return "";
  const subject = slots.get(jwtClaims)?.["sub"];
  if (typeof subject === "string") return subject;
  const metadata = slots.get(apiKeyMetadata);
  if (metadata !== undefined) {
    return keyNames.getOrInsertComputed(metadata, nameOfKey);
  }
  const user = slots.get(basicAuthUser)?.["username"];
  return typeof user === "string" ? user : "";
}

/** Requests with the same key share its metadata. */
const keyNames = new WeakMap<object, string>();

/** Lists, such as that of the models that a key may use, change while the key stays the same. */
function nameOfKey(metadata: object): string {
  return Object.entries(metadata)
    .filter(([, value]) => typeof value !== "object")
    .map(([name, value]) => `${name}=${value}`).join(",");
}
