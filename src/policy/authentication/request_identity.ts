import type { PolicyContext } from "../policy.ts";

/** Who a request comes from, as far as authentication has found out; later policies and expressions read it. */
export interface RequestIdentity {
  /** Verified claims of the token: `jwt` in expressions. The same object for each request with the same token. */
  jwt?: Readonly<Record<string, unknown>>;
  /** Metadata of the API key, and never the key itself: `apiKey` in expressions. */
  apiKey?: Readonly<Record<string, unknown>>;
  /** `{ username }` of the verified user: `basicAuth` in expressions. */
  basicAuth?: Readonly<Record<string, unknown>>;
  /** Set on MCP routes: what a challenge for more rights has to point to. */
  protectedResource?: ProtectedResource;
}

/** A resource that describes itself to OAuth clients (RFC 9728). */
export interface ProtectedResource {
  /** URL of its metadata, as `resource_metadata` of a challenge. */
  metadataUrl(context: PolicyContext): string;
}
