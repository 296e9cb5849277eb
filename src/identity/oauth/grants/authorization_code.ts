import { type JsonObject, stringMember } from "../../../base/json.ts";
import type { Seal } from "../protocol/seal.ts";
import type { GrantId } from "./grant_record.ts";

/** A login that the client has not redeemed yet; sealed, it is the authorization code. */
export interface AuthorizationCode {
  /** ID of the code, and of the grant that it is redeemed for. */
  readonly id: string;
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
  readonly issuer: string;
  /** Code of the provider; the gateway redeems it when the client redeems the gateway's. */
  readonly providerCode: string;
  /** PKCE verifier of the gateway towards the provider. */
  readonly verifier: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
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
  if (value === undefined) return undefined;
  const { expiresAt } = value;
  const strings = stringsOf(value, [
    "id",
    "client",
    "redirectUri",
    "challenge",
    "issuer",
    "providerCode",
    "verifier",
  ]);
  return strings === undefined || typeof expiresAt !== "number" ? undefined : {
    ...strings,
    clientName: stringMember(value, "clientName"),
    signs: value["signs"] === true,
    scope: stringMember(value, "scope"),
    expiresAt,
  };
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
  const value = seal.open("refresh", text);
  if (value === undefined) return undefined;
  const strings = stringsOf(value, [
    "grant",
    "client",
    "issuer",
    "providerToken",
  ]);
  const { number = 0, startedAt = 0 } = value;
  return strings === undefined || typeof number !== "number" ||
      typeof startedAt !== "number"
    ? undefined
    : {
      ...strings,
      scope: stringMember(value, "scope"),
      signs: value["signs"] === true,
      number,
      startedAt,
    };
}

/** Returns the grant of a refresh token. */
export function idOf(
  { grant: id, startedAt }: Pick<RefreshGrant, "grant" | "startedAt">,
): GrantId {
  return { id, startedAt };
}

/** Returns the members with these names; `undefined` unless all of them are strings. */
function stringsOf<const K extends string>(
  value: JsonObject,
  names: readonly K[],
): Readonly<Record<K, string>> | undefined {
  const found: Partial<Record<K, string>> = {};
  for (const name of names) {
    const member = stringMember(value, name);
    if (member === undefined) return undefined;
    found[name] = member;
  }
  return isComplete(found, names) ? found : undefined;
}

function isComplete<K extends string>(
  found: Partial<Record<K, string>>,
  names: readonly K[],
): found is Record<K, string> {
  return names.every((name) => found[name] !== undefined);
}
