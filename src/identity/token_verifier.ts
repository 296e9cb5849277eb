import type { Clock } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import { checkClaims, type ClaimRules } from "./claims.ts";
import { isSignedBy } from "./jose.ts";
import { candidateKeys, type KeySet } from "./keys/key_set.ts";
import type { KeySource } from "./keys/key_source.ts";
import type { PublicKey } from "./keys/public_key.ts";
import { compareValues, showValues } from "./shown_values.ts";
import { readToken, TokenError, type UnverifiedToken } from "./token.ts";
import { TokenMemory } from "./token_memory.ts";

/** Whose tokens are accepted. */
export interface TokenProvider {
  /** Equal to the `iss` claim, character by character. */
  readonly issuer: string;
  readonly audiences: readonly string[] | undefined;
  readonly keys: KeySource;
}

/** What a verifier is made from. */
export interface TokenVerifierOptions {
  readonly providers: readonly TokenProvider[];
  readonly clockSkewMs: number;
  readonly clock: Clock;
}

/** Told of whom a token has to wait for, such as `keys of https://idp.example.com/`; passes on what comes of it. */
export type WaitFor = <T>(whom: string, answer: Promise<T>) => Promise<T>;

interface VerifiedToken {
  readonly text: string;
  readonly claims: JsonObject;
  readonly provider: TokenProvider;
  /** Those in force when it was verified. */
  readonly keys: KeySet;
  readonly expiresAt: number;
}

/**
 * Verifies access tokens: provider by `iss`, key by `kid` inside that provider, signature, claims.
 *
 * A verified token is remembered until it expires or the keys of its provider change.
 */
export class TokenVerifier {
  readonly #providers: ReadonlyMap<string, TokenProvider>;
  readonly #clockSkewMs: number;
  readonly #clock: Clock;
  readonly #memory = new TokenMemory<VerifiedToken>();

  constructor({ providers, clockSkewMs, clock }: TokenVerifierOptions) {
    this.#providers = new Map(providers.map((each) => [each.issuer, each]));
    this.#clockSkewMs = clockSkewMs;
    this.#clock = clock;
  }

  /** Tokens that are remembered, and how many may be. */
  get fill(): TokenMemory<VerifiedToken>["fill"] {
    return this.#memory.fill;
  }

  /**
   * The claims of a token; the same object for the same token, without a promise when it is remembered.
   * @throws {TokenError} When it is not accepted.
   * @throws {DocumentUnavailableError} When there are no keys to verify it with.
   */
  verify(
    text: string,
    waitFor: WaitFor = (_, answer) => answer,
  ): JsonObject | Promise<JsonObject> {
    const known = this.#memory.get(text, this.#clock.now());
    if (known === undefined) return this.#verify(text, waitFor);
    const { provider } = known;
    const keys = provider.keys.get();
    if (keys === known.keys) return known.claims;
    this.#memory.delete(text);
    return keys instanceof Promise
      ? waitFor(keysOf(provider), keys).then(() => this.#verify(text, waitFor))
      : this.#verify(text, waitFor);
  }

  async #verify(text: string, waitFor: WaitFor): Promise<JsonObject> {
    const token = readToken(text);
    const provider = this.#providerOf(token);
    const keys = await this.#verifySignature(token, provider, waitFor);
    const { claims } = token;
    const expiresAt = checkClaims(claims, this.#rules(provider), this.#now());
    this.#memory.add({ text, claims, provider, keys, expiresAt });
    return claims;
  }

  #providerOf({ claims }: UnverifiedToken): TokenProvider {
    const { iss } = claims;
    const provider = typeof iss === "string"
      ? this.#providers.get(iss)
      : undefined;
    if (provider !== undefined) return provider;
    if (iss === undefined) throw new TokenError("token has no issuer");
    if (typeof iss !== "string") {
      throw new TokenError("token issuer is not text");
    }
    // Nobody has verified the token yet: anyone may have written this.
    const found = `has unverified issuer ${showValues([iss])}`;
    throw new TokenError(
      "token issuer is not accepted",
      compareValues(found, [...this.#providers.keys()]),
    );
  }

  async #verifySignature(
    token: UnverifiedToken,
    provider: TokenProvider,
    waitFor: WaitFor,
  ): Promise<KeySet> {
    const { keys: source } = provider;
    const known = source.get();
    let keys = known instanceof Promise
      ? await waitFor(keysOf(provider), known)
      : known;
    let candidates = candidateKeys(keys, token.kid, token.algorithm);
    if (candidates.length === 0) {
      const newer = source.newer(keys);
      keys = await waitFor(`newer ${keysOf(provider)}`, newer);
      candidates = candidateKeys(keys, token.kid, token.algorithm);
    }
    if (candidates.length === 0) throw unknownKey(token, keys);
    for (const key of candidates) {
      if (await isSignedWith(token, key)) return keys;
    }
    throw new TokenError("token signature is wrong");
  }

  #rules({ audiences }: TokenProvider): ClaimRules {
    return { audiences, clockSkewMs: this.#clockSkewMs };
  }

  #now(): number {
    return this.#clock.now();
  }
}

function keysOf({ issuer }: TokenProvider): string {
  return `keys of ${issuer}`;
}

function unknownKey(
  { kid }: UnverifiedToken,
  { keys }: KeySet,
): TokenError {
  if (kid === undefined) {
    return new TokenError("token names no key and more or less than one fits");
  }
  const known = keys.flatMap((key) => key.kid ?? []);
  return new TokenError(
    "token key is unknown",
    compareValues(`has unverified key id ${showValues([kid])}`, known),
  );
}

async function isSignedWith(
  { text, algorithm }: UnverifiedToken,
  key: PublicKey,
): Promise<boolean> {
  return await isSignedBy(text, await key.forAlgorithm(algorithm), algorithm);
}
