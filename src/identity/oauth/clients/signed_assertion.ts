import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import { type JsonObject, stringMember } from "../../../base/json.ts";
import { DocumentUnavailableError } from "../../documents/remote_document.ts";
import type { KeySource } from "../../keys/key_set.ts";
import { checkClaims } from "../../tokens/claims.ts";
import {
  parseToken,
  TokenError,
  type UnverifiedToken,
} from "../../tokens/token.ts";
import { signatureProblem } from "../../tokens/token_verifier.ts";
import { storeUnavailable } from "../grants/grant_store.ts";
import type { ProofStore } from "../grants/proof_store.ts";
import { OAuthError, type OAuthErrorCode } from "../protocol/oauth_error.ts";
import { sha256 } from "../protocol/seal.ts";

/** Requirements of an assertion (RFC 7523 section 3). */
export interface ExpectedAssertion {
  /** Names it in errors, such as `client_assertion`. */
  readonly name: string;
  readonly code: OAuthErrorCode;
  isType(typ: unknown): boolean;
  /** Must equal its `iss`. */
  readonly issuer: string;
  readonly keys: KeySource;
  /** It has to be for one of these alone: an assertion for two servers lets one act at the other. */
  readonly audiences: readonly string[];
}

/** Dependencies of the checks. */
export interface AssertionServices {
  readonly clock: Clock;
  /** Assertions that were used. */
  readonly proofs: ProofStore;
}

const CLOCK_SKEW_MS = 60_000;
/** Assertions are used at once; longer ones would fill the memory of used ones. */
const MAX_LIFETIME_MS = 10 * 60_000;
const MAX_ID_LENGTH = 256;

/**
 * Verifies an assertion, each once: type, signature, issuer, audience, times, and that its `jti` is new for its issuer.
 * @throws {OAuthError} With the expected code; `temporarily_unavailable` when the keys or the memory are not available.
 */
export async function verifyAssertion(
  text: string,
  expected: ExpectedAssertion,
  { clock, proofs }: AssertionServices,
): Promise<JsonObject> {
  try {
    const token = parseToken(text, expected.isType);
    if (token.claims["iss"] !== expected.issuer) {
      throw new TokenError("iss is another one");
    }
    await verifySignature(token, expected.keys);
    const now = clock.now();
    const expiresAt = checkTimes(token.claims, expected, now);
    const id = stringMember(token.claims, "jti") ?? "";
    if (id === "" || id.length > MAX_ID_LENGTH) {
      throw new TokenError("jti is missing or too long");
    }
    const isNew = await proofs.spend(
      sha256(`${expected.name} ${expected.issuer}`),
      sha256(id),
      expiresAt,
    ).catch(storeUnavailable);
    if (!isNew) throw new TokenError("it was used before");
    return token.claims;
  } catch (error) {
    if (error instanceof TokenError) {
      throw new OAuthError(
        expected.code,
        `${expected.name} is rejected: ${error.message}`,
        describeError(error),
      );
    }
    if (!(error instanceof DocumentUnavailableError)) throw error;
    throw new OAuthError(
      "temporarily_unavailable",
      `the keys for ${expected.name} are not available`,
      describeError(error),
      error.retryAfter,
    );
  }
}

async function verifySignature(
  token: UnverifiedToken,
  source: KeySource,
): Promise<void> {
  const keys = await source.get();
  const problem = await signatureProblem(token, keys);
  if (problem === undefined) return;
  const { iat } = token.claims;
  const issuedBy = typeof iat === "number" ? iat * 1000 : undefined;
  const newer = await source.newer(keys, issuedBy);
  if (newer === keys || await signatureProblem(token, newer) !== undefined) {
    throw problem;
  }
}

/** @returns When it ends, with the clock skew. @throws {TokenError} */
function checkTimes(
  claims: JsonObject,
  { audiences }: ExpectedAssertion,
  now: number,
): number {
  const { aud } = claims;
  if (Array.isArray(aud) && aud.length > 1) {
    throw new TokenError("it has several audiences");
  }
  const rules = { audiences, clockSkewMs: CLOCK_SKEW_MS };
  const expiresAt = checkClaims(claims, rules, now);
  if (expiresAt - now > MAX_LIFETIME_MS + CLOCK_SKEW_MS) {
    throw new TokenError(
      `it is valid for more than ${MAX_LIFETIME_MS / 60_000} minutes`,
    );
  }
  return expiresAt;
}
