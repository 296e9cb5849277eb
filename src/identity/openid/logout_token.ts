import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import { isSignedBy } from "../keys/jose.ts";
import { candidateKeys, type KeySet } from "../keys/key_set.ts";
import { checkClaims } from "../tokens/claims.ts";
import {
  parseToken,
  TokenError,
  type UnverifiedToken,
} from "../tokens/token.ts";
import type { OpenIdClient } from "./openid_client.ts";

/** Sessions that a provider has ended (OpenID Connect Back-Channel Logout section 2.4). */
export interface EndedSessions {
  /** Session at the provider; `undefined` for all of the user. */
  readonly sid: string | undefined;
  readonly subject: string | undefined;
  /** In seconds, by the clock of the provider. */
  readonly issuedAt: number;
  /** Never used twice. */
  readonly id: string;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
}

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
const CLOCK_SKEW_MS = 60_000;
const MAX_NAME_LENGTH = 1024;

/**
 * Verifies a logout token of a provider.
 * @throws {TokenError} When it is not one, or of another provider or client.
 * @throws {Error} When the keys of the provider are not available.
 */
export async function verifyLogoutToken(
  text: string,
  client: Pick<OpenIdClient, "issuer" | "clientId" | "keys">,
  now: number,
): Promise<EndedSessions> {
  const token = parseToken(text, isLogoutTokenType);
  const { claims } = token;
  if (claims["iss"] !== client.issuer) {
    throw new TokenError("token issuer is not accepted");
  }
  const rules = { audiences: [client.clientId], clockSkewMs: CLOCK_SKEW_MS };
  const expiresAt = checkClaims(claims, rules, now);
  const ended = readClaims(claims, expiresAt);
  await verifySignature(token, client);
  return ended;
}

async function verifySignature(
  token: UnverifiedToken,
  client: Pick<OpenIdClient, "keys">,
): Promise<void> {
  const known = await client.keys();
  if (await isSignedByAny(token, known)) return;
  const newer = await client.keys(known);
  if (newer !== known && await isSignedByAny(token, newer)) return;
  throw new TokenError("token signature is invalid");
}

async function isSignedByAny(
  { text, algorithm, kid }: UnverifiedToken,
  keys: KeySet,
): Promise<boolean> {
  for (const key of candidateKeys(keys, kid, algorithm)) {
    const imported = await key.forAlgorithm(algorithm);
    if (await isSignedBy(text, imported, algorithm)) return true;
  }
  return false;
}

/** The type is required: an ID token, which has the same issuer and audience, must not end sessions. */
function isLogoutTokenType(typ: unknown): boolean {
  return typeof typ === "string" &&
    /^(?:application\/)?logout\+jwt$/i.test(typ);
}

function readClaims(claims: JsonObject, expiresAt: number): EndedSessions {
  const sid = nameIn(claims, "sid");
  const subject = nameIn(claims, "sub");
  const id = nameIn(claims, "jti");
  const { events, iat } = claims;
  if (!isJsonObject(events) || !isJsonObject(events[EVENT])) {
    throw new TokenError("token has no logout event");
  }
  if (Object.hasOwn(claims, "nonce")) throw new TokenError("token has a nonce");
  if (id === undefined) throw new TokenError("token has no ID");
  if (typeof iat !== "number") {
    throw new TokenError("token has no time of issue");
  }
  if (sid === undefined && subject === undefined) {
    throw new TokenError("token names neither a session nor a user");
  }
  return { sid, subject, issuedAt: iat, id, expiresAt };
}

function nameIn(claims: JsonObject, name: string): string | undefined {
  const value = stringMember(claims, name);
  return value === "" || (value?.length ?? 0) > MAX_NAME_LENGTH
    ? undefined
    : value;
}
