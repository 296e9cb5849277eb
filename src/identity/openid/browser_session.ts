import type { JsonObject } from "../../base/json.ts";
import { readMembers } from "../../base/json/decode_members.ts";
import type { OpenIdTokens } from "./openid_client.ts";

/** A user who is logged in in a browser, as sealed in its cookies. */
export interface BrowserSession {
  /** Random; stays the same until the user logs out. */
  readonly id: string;
  readonly subject: string;
  /** Of the ID token. */
  readonly claims: JsonObject;
  readonly tokens: SessionTokens;
  readonly startedAt: number;
  /** Last request, give or take a minute, in milliseconds since the epoch. */
  readonly seenAt: number;
  /** When the provider issued the first ID token, by its own clock, in seconds. */
  readonly issuedAt: number;
}

/** Tokens of a session, which are renewed. */
export interface SessionTokens {
  /** Counts renewals. */
  readonly version: number;
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly idToken: string | undefined;
  /** When the access token expires, in milliseconds since the epoch; `undefined` if tokens cannot be renewed. */
  readonly expiresAt: number | undefined;
  /** From then on they are renewed. */
  readonly renewAt: number | undefined;
}

/** Claims about the token and not about the user. */
const protocolClaims = ["at_hash", "c_hash", "nonce", "s_hash"];
/** Assumed of an access token whose lifetime the provider does not say. */
const LIFETIME_MS = 60 * 60_000;
/** Tokens are renewed after this part of their lifetime. */
const RENEWAL_SHARE = 0.9;

/** Returns the claims of an ID token that are about the user. */
export function userClaims(claims: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(claims).filter(([name]) => !protocolClaims.includes(name)),
  );
}

/** Returns the tokens of a session. @param version Of those before; -1 at the login. */
export function sessionTokens(
  { accessToken, refreshToken, idToken, lifetimeMs = LIFETIME_MS }: Omit<
    OpenIdTokens,
    "claims"
  >,
  version: number,
  now: number,
): SessionTokens {
  const canRenew = refreshToken !== undefined;
  return {
    version: version + 1,
    accessToken,
    refreshToken,
    idToken,
    expiresAt: canRenew ? now + lifetimeMs : undefined,
    renewAt: canRenew ? now + lifetimeMs * RENEWAL_SHARE : undefined,
  };
}

/** Reads what was sealed; `undefined` if it is of an older release. */
export function decodeSession(value: JsonObject): BrowserSession | undefined {
  const session = readMembers(value, {
    id: "string",
    subject: "string",
    claims: "object",
    startedAt: "number",
    seenAt: "number",
    issuedAt: "number",
  });
  const tokens = decodeTokens(value["tokens"]);
  return session?.subject && tokens ? { ...session, tokens } : undefined;
}

/** Reads the tokens of a session. */
export function decodeTokens(value: unknown): SessionTokens | undefined {
  return readMembers(value, { version: "number", accessToken: "string" }, {
    refreshToken: "string",
    idToken: "string",
    expiresAt: "number",
    renewAt: "number",
  });
}
