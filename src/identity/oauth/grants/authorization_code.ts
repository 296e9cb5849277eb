import { readMembers } from "../../../base/json/decode_members.ts";
import type { Seal } from "../protocol/seal.ts";
import type { GrantId } from "./grant_record.ts";

/** A login of a user for a client. */
export interface ClientLogin {
  /** Fingerprint of the client. */
  readonly client: string;
  /** Name of the client for admins. */
  readonly clientName: string | undefined;
  /** The client signs its requests for tokens. */
  readonly signs: boolean;
  readonly redirectUri: string;
  /** S256 challenge of the client's PKCE verifier. */
  readonly challenge: string;
  readonly scope: string | undefined;
  /** Issuer for the client: the URL of the MCP server. */
  readonly issuer: string;
  /** PKCE verifier of the gateway towards the provider. */
  readonly verifier: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A login that the client has not redeemed yet; sealed, it is the authorization code. */
export interface AuthorizationCode extends ClientLogin {
  /** ID of the code, and of the grant that it is redeemed for. */
  readonly id: string;
  /** Code of the provider; the gateway redeems it when the client redeems the gateway's. */
  readonly providerCode: string;
}

/** A refresh token of the provider, bound to a client; sealed, it is the refresh token of the gateway. */
export interface RefreshGrant {
  /** ID of the code that was redeemed for it. */
  readonly grant: string;
  /** Fingerprint of the client. */
  readonly client: string;
  readonly issuer: string;
  readonly scope: string | undefined;
  /** The client signs its requests for tokens. */
  readonly signs: boolean;
  /** When the grant started, in milliseconds since the epoch; 0 for a grant of an earlier version. */
  readonly startedAt: number;
  /** Number of the token among those of the grant. */
  readonly number: number;
  readonly providerToken: string;
}

/** Time after which providers end unused refresh tokens. */
export const GRANT_MS = 90 * 24 * 60 * 60_000;
/** Lifetime of a code (RFC 6749 section 4.1.2 recommends at most ten minutes). */
export const CODE_MS = 60_000;

/** Seals a code as the text that the client gets. */
export function sealCode(seal: Seal, code: AuthorizationCode): string {
  return seal.seal("code", { ...code });
}

/** Opens a code that `sealCode` sealed; `undefined` for any other text. */
export function openCode(
  seal: Seal,
  text: string,
): AuthorizationCode | undefined {
  const value = seal.open("code", text);
  const login = readClientLogin(value);
  const code = readMembers(value, { id: "string", providerCode: "string" });
  return login && code && { ...login, ...code };
}

/** Reads what was sealed of a login; `undefined` if it is none. */
export function readClientLogin(value: unknown): ClientLogin | undefined {
  const login = readMembers(value, {
    client: "string",
    redirectUri: "string",
    challenge: "string",
    issuer: "string",
    verifier: "string",
    expiresAt: "number",
  }, { clientName: "string", signs: "boolean", scope: "string" });
  return login && { ...login, signs: login.signs === true };
}

/** Seals a grant as the refresh token that the client gets. */
export function sealRefreshToken(seal: Seal, grant: RefreshGrant): string {
  return seal.seal("refresh", { ...grant });
}

/** Opens a grant that `sealRefreshToken` sealed; `undefined` for any other text. */
export function openRefreshToken(
  seal: Seal,
  text: string,
): RefreshGrant | undefined {
  const grant = readMembers(seal.open("refresh", text), {
    grant: "string",
    client: "string",
    issuer: "string",
    providerToken: "string",
  }, {
    scope: "string",
    signs: "boolean",
    number: "number",
    startedAt: "number",
  });
  if (grant === undefined) return undefined;
  const { signs = false, number = 0, startedAt = 0 } = grant;
  return { ...grant, signs, number, startedAt };
}

/** Returns the grant of a refresh token. */
export function idOf(
  { grant: id, startedAt }: Pick<RefreshGrant, "grant" | "startedAt">,
): GrantId {
  return { id, startedAt };
}
