import { createHash } from "node:crypto";
import type { Caller } from "../../identity/backend_tokens/backend_credentials.ts";
import { type Claims, defineIdentity } from "../contract/identity.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { RequestOwner } from "../../telemetry/log/finished_request.ts";
import type { PolicyContext } from "../contract/policy.ts";
import { defineSlot, type Slots } from "../contract/slot.ts";

/** Verified claims of the token: `jwt` in expressions. Requests with the same token share the object. */
export const jwtClaims = defineIdentity("jwt");

/** Issuer of the token where a route accepts several: subjects of two issuers are different users. */
const subjectIssuer = defineSlot<string>("subjectIssuer");

/** Authentication scheme of the verified token, for challenges about it. */
export const tokenScheme = defineSlot<"Bearer" | "DPoP">("tokenScheme");

/** The token that the claims are from. */
const verifiedToken = defineSlot<string>("verifiedToken");

/**
 * Sets the verified claims of a token; `undefined` removes them.
 * @param hasSeveralIssuers The route accepts tokens of other issuers too.
 */
export function setTokenClaims(
  slots: Slots,
  claims: Claims | undefined,
  hasSeveralIssuers: boolean,
  token?: string,
): void {
  slots.set(jwtClaims, claims);
  slots.set(verifiedToken, token);
  const issuer = hasSeveralIssuers ? claims?.["iss"] : undefined;
  slots.set(subjectIssuer, typeof issuer === "string" ? issuer : undefined);
}

/** Metadata of the API key, without the key: `apiKey` in expressions. */
export const apiKeyMetadata = defineIdentity("apiKey", "metadata", true);

/** ID of a stored API key, which stays when its secret is replaced, or SHA-256 of another one: keys may share their metadata. */
export const apiKeyIdentity = defineSlot<string>("apiKeyIdentity");

/** `{ username }` of the verified user: `basicAuth` in expressions. */
export const basicAuthUser = defineIdentity("basicAuth", "username");

/** Creates the 403 for a user whose browser opens a page that a rule denies. */
export const denialPage = defineSlot<() => ResponseMessage>("denialPage");

/** Metadata of the external authorizer: `extAuthz` in expressions. */
export const authorizerMetadata = defineIdentity("extAuthz", "metadata", true);

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

/**
 * Returns a name of the client: the subject of the token (`<issuer>#<subject>` on a route with several issuers), the ID of the API key or its metadata without
 * lists and objects, or the name of the user; empty without identity.
 */
export function clientOf(slots: Slots | undefined): string {
  if (slots === undefined) return "";
  const subject = slots.get(jwtClaims)?.["sub"];
  if (typeof subject === "string") {
    const issuer = slots.get(subjectIssuer);
    return issuer === undefined ? subject : qualified(issuer, subject);
  }
  const metadata = slots.get(apiKeyMetadata);
  if (metadata !== undefined) {
    return keyNames.getOrInsertComputed(metadata, nameOfKey);
  }
  const user = slots.get(basicAuthUser)?.["username"];
  return typeof user === "string" ? user : "";
}

/**
 * Returns names that no two callers have in common, unlike `clientOf`; none without identity. A token without subject has those of its
 * claims, an API key those of `apiKeyIdentity`.
 */
export function distinctCaller(slots: Slots | undefined): readonly string[] {
  const claims = slots?.get(jwtClaims);
  if (claims !== undefined) {
    const { iss, sub } = claims;
    const issuer = typeof iss === "string" ? iss : "";
    return typeof sub === "string" && sub !== ""
      ? ["subject", issuer, sub]
      : ["claims", issuer, rightsOf(claims)];
  }
  const key = slots?.get(apiKeyIdentity);
  if (key !== undefined) return ["key", key];
  const user = slots?.get(basicAuthUser)?.["username"];
  return typeof user === "string" ? ["user", user] : [];
}

/**
 * Returns the user that the verified token of a request names, the same object for the same token; `undefined` without one, or if it
 * does not name both issuer and subject.
 */
export function callerOf(slots: Slots | undefined): Caller | undefined {
  const claims = slots?.get(jwtClaims);
  const token = slots?.get(verifiedToken);
  if (claims === undefined || token === undefined) return undefined;
  const known = callers.get(claims);
  if (known?.token === token) return known;
  const { iss: issuer, sub: subject } = claims;
  if (typeof issuer !== "string" || typeof subject !== "string") {
    return undefined;
  }
  if (issuer === "" || subject === "") return undefined;
  const caller = { issuer, subject, token, rights: rightsOf(claims) };
  callers.set(claims, caller);
  return caller;
}

/** By claims, which requests with the same token share. */
const callers = new WeakMap<object, Caller>();

/** Requests with the same token share its claims. */
const rights = new WeakMap<object, string>();

/** Returns a hash of the claims that tokens with the same rights have in common. */
function rightsOf(claims: Claims): string {
  return rights.getOrInsertComputed(claims, digestRights);
}

/** Claims that differ between tokens with the same rights. */
const perToken: ReadonlySet<string> = new Set(["exp", "iat", "jti", "nbf"]);

function digestRights(claims: object): string {
  const lasting = Object.entries(claims)
    .filter(([name]) => !perToken.has(name))
    .sort(([a], [b]) => a < b ? -1 : 1);
  return createHash("sha256").update(JSON.stringify(lasting))
    .digest("base64url");
}

/** The first `#` ends the issuer, so that two pairs never have the same name. */
function qualified(issuer: string, subject: string): string {
  return `${issuer.replace(/[%#]/g, encodeURIComponent)}#${subject}`;
}

/** Returns to whom the use of a client is charged: user, team and tag of its API key, or the user that it is. */
export function ownerOf(slots: Slots | undefined): RequestOwner | undefined {
  const metadata = slots?.get(apiKeyMetadata);
  if (metadata !== undefined) {
    return keyOwners.getOrInsertComputed(metadata, ownerOfKey);
  }
  const user = clientOf(slots);
  return user === "" ? undefined : { user };
}

/** Requests with the same key share its metadata. */
const keyOwners = new WeakMap<object, RequestOwner>();

function ownerOfKey(metadata: object): RequestOwner {
  const fields = new Map<string, unknown>(Object.entries(metadata));
  const text = (name: string) => {
    const value = fields.get(name);
    return typeof value === "string" ? value : undefined;
  };
  return { user: text("user"), team: text("team"), tag: text("tag") };
}

/** Names the client of a key by something that stays when its metadata changes. */
export function nameKey(metadata: Claims, name: string): void {
  keyNames.set(metadata, name);
}

/** Requests with the same key share its metadata. */
const keyNames = new WeakMap<object, string>();

/** Lists, such as that of the models that a key may use, change while the key stays the same. */
function nameOfKey(metadata: object): string {
  return Object.entries(metadata)
    .filter(([, value]) => typeof value !== "object")
    .map(([name, value]) => `${name}=${value}`).join(",");
}
