import { createHash } from "node:crypto";
import type { JsonObject } from "../../base/json.ts";
import { isJsonObject } from "../../base/json.ts";
import { isSignedBy } from "../keys/jose.ts";
import { PublicKey, signatureAlgorithms } from "../keys/public_key.ts";
import { parseToken, TokenError, type UnverifiedToken } from "./token.ts";

/** Algorithms that proofs may be signed with, for challenges: `ES256 EdDSA`. */
export const proofAlgorithms = [...signatureAlgorithms].join(" ");

/** A request that a proof has to be for. */
export interface ProvenRequest {
  readonly method: string;
  /** As the client sees it; query and fragment do not count. */
  readonly url: string;
  /** The access token. */
  readonly token: string;
  /** Thumbprint of the key that the token is bound to. */
  readonly thumbprint: string;
  /** In milliseconds since the epoch. */
  readonly now: number;
  readonly clockSkewMs: number;
}

/** A proof that is valid, unless it was used before. */
export interface DpopProof {
  /** Digest of its `jti`. */
  readonly id: string;
  readonly nonce: string | undefined;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Time for which a proof may be used, besides the clock skew. */
const MAX_AGE_MS = 60_000;
const MAX_ID_LENGTH = 1024;

/**
 * Verifies a DPoP proof (RFC 9449 section 4.3), except for its nonce and that it was not used before.
 * @throws {TokenError} Names the failed check.
 */
export async function verifyProof(
  text: string,
  request: ProvenRequest,
): Promise<DpopProof> {
  const proof = parseProof(text);
  await checkKey(proof, request.thumbprint);
  const { claims } = proof;
  const { method, url, token } = request;
  if (claims["htm"] !== method) fail("is for another method");
  const expected = urlOf(url);
  if (expected === undefined || urlOf(claims["htu"]) !== expected) {
    fail("is for another URL");
  }
  if (claims["ath"] !== digest(token)) fail("is for another token");
  const { jti: id, nonce } = claims;
  if (typeof id !== "string" || id === "" || id.length > MAX_ID_LENGTH) {
    return fail("has no valid jti");
  }
  if (nonce !== undefined && typeof nonce !== "string") {
    return fail("has no valid nonce");
  }
  return { id: digest(id), nonce, expiresAt: expiryOf(claims, request) };
}

function parseProof(text: string): UnverifiedToken {
  try {
    return parseToken(text, (type) => type === "dpop+jwt");
  } catch (error) {
    if (error instanceof TokenError) fail(`is malformed (${error.message})`);
    throw error;
  }
}

async function checkKey(
  { text, header, algorithm }: UnverifiedToken,
  thumbprint: string,
): Promise<void> {
  const { jwk } = header;
  const key = isJsonObject(jwk) ? readKey(jwk) : undefined;
  if (key === undefined || !key.algorithms.includes(algorithm)) {
    return fail("has no suitable public key");
  }
  if (await key.thumbprint() !== thumbprint) {
    fail("is signed by another key than that of the token");
  }
  if (!await isSignedBy(text, await importKey(key, algorithm), algorithm)) {
    fail("has an invalid signature");
  }
}

function readKey(jwk: JsonObject): PublicKey | undefined {
  // Every member that a symmetric or private key has.
  if (Object.hasOwn(jwk, "k") || Object.hasOwn(jwk, "d")) return undefined;
  try {
    return PublicKey.read(jwk);
  } catch {
    // Whatever is wrong with it, it is the client's own key.
    return undefined;
  }
}

function importKey(key: PublicKey, algorithm: string) {
  return key.forAlgorithm(algorithm).catch(() =>
    fail("has no suitable public key")
  );
}

/** @throws {TokenError} When it is not from now. */
function expiryOf(
  { iat }: JsonObject,
  { now, clockSkewMs }: ProvenRequest,
): number {
  if (typeof iat !== "number" || !Number.isFinite(iat)) {
    return fail("has no iat");
  }
  const issuedAt = iat * 1000;
  const expiresAt = issuedAt + MAX_AGE_MS + clockSkewMs;
  if (expiresAt <= now) fail("has expired");
  if (issuedAt - clockSkewMs > now) fail("is issued in the future");
  return expiresAt;
}

/** Returns a URL without query and fragment in a form to compare (RFC 3986 section 6.2); `undefined` for anything else. */
function urlOf(text: unknown): string | undefined {
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (url === null) return undefined;
  const path = url.pathname.replace(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCharCode(parseInt(code.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : code.toUpperCase();
  });
  return url.origin + path;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

function fail(problem: string): never {
  throw new TokenError(`the DPoP proof ${problem}`);
}
