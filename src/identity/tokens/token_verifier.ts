import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { checkClaims } from "./claims.ts";
import { isSignedBy } from "../keys/jose.ts";
import { candidateKeys, type KeySet, type KeySource } from "../keys/key_set.ts";
import type { PublicKey } from "../keys/public_key.ts";
import { compareValues, showValues } from "../../base/log/log_text.ts";
import {
  isOpaque,
  parseToken,
  TokenError,
  type UnverifiedToken,
} from "./token.ts";
import type { TokenIntrospector } from "./token_introspector.ts";
import {
  type FailedProvider,
  failureOf,
  isVerificationError,
} from "./verification_error.ts";
import { TokenCache } from "./token_cache.ts";

/** An identity provider whose tokens are accepted. */
export interface TokenProvider {
  /** Must equal the `iss` claim exactly. */
  readonly issuer: string;
  readonly audiences: readonly string[] | undefined;
  /** `undefined`: the provider is asked about JWTs, too. */
  readonly keys: KeySource | undefined;
  /** Asks the provider about tokens; `undefined` if it has no opaque ones. */
  readonly introspector?: TokenIntrospector | undefined;
}

/** A provider that signs its tokens. */
type SigningProvider = TokenProvider & { readonly keys: KeySource };

/** Options of a `TokenVerifier`. */
export interface TokenVerifierOptions {
  readonly providers: readonly TokenProvider[];
  readonly clockSkewMs: number;
  readonly clock: Clock;
  /** Resource that configures it, such as `default/login`. */
  readonly owner?: string;
}

/** Awaits a pending result and records what the token waits for, such as `keys of https://idp.example.com/`. */
export type WaitFor = <T>(target: string, pending: Promise<T>) => Promise<T>;

interface VerifiedToken {
  readonly text: string;
  readonly claims: JsonObject;
  readonly provider: SigningProvider;
  /** The provider's keys at the time of verification. */
  readonly keys: KeySet;
  readonly expiresAt: number;
}

/**
 * Verifies access tokens: selects the provider by `iss` and its key by `kid`, checks signature and claims.
 *
 * Providers may share an issuer; a token passes if one of them accepts it.
 *
 * Verified tokens are cached until they expire or the keys of their provider change.
 */
export class TokenVerifier {
  readonly #providers: ReadonlyMap<string, readonly TokenProvider[]>;
  readonly #clockSkewMs: number;
  readonly #clock: Clock;
  readonly #cache = new TokenCache<VerifiedToken>();
  /** Providers with opaque tokens, which do not say whose they are. */
  readonly #introspecting: readonly TokenProvider[];

  readonly owner: string | undefined;

  constructor({ providers, clockSkewMs, clock, owner }: TokenVerifierOptions) {
    this.owner = owner;
    this.#providers = Map.groupBy(providers, ({ issuer }) => issuer);
    this.#introspecting = providers.filter(({ introspector }) =>
      introspector !== undefined
    );
    this.#clockSkewMs = clockSkewMs;
    this.#clock = clock;
  }

  /** Returns the issuers whose tokens are verified with these keys. */
  issuersOf(keys: KeySource): readonly string[] {
    return [...this.#providers].filter(([, providers]) =>
      providers.some((each) => each.keys === keys)
    ).map(([issuer]) => issuer);
  }

  /** Number of tokens and capacity of each cache. */
  get occupancies(): readonly TokenCache<VerifiedToken>["occupancy"][] {
    return [
      this.#cache.occupancy,
      ...this.#introspecting.flatMap(({ introspector }) =>
        introspector?.occupancy ?? []
      ),
    ];
  }

  /**
   * Returns the claims of a token: the same object for the same token, without a promise when it is cached.
   * @throws {TokenError} When the token is rejected.
   * @throws {DocumentUnavailableError} When the provider's keys are not available.
   */
  verify(
    text: string,
    waitFor: WaitFor = (_, pending) => pending,
  ): JsonObject | Promise<JsonObject> {
    const known = this.#cache.get(text, this.#clock.now());
    if (known === undefined) return this.#verify(text, waitFor);
    const { provider } = known;
    const keys = provider.keys.get();
    if (keys === known.keys) return known.claims;
    this.#cache.delete(text);
    return keys instanceof Promise
      ? waitFor(keysOf(provider), keys).then(() => this.#verify(text, waitFor))
      : this.#verify(text, waitFor);
  }

  async #verify(text: string, waitFor: WaitFor): Promise<JsonObject> {
    if (this.#introspecting.length > 0 && isOpaque(text)) {
      return await firstThatAccepts(
        this.#introspecting,
        (provider) => introspect(text, provider, waitFor),
      );
    }
    const token = parseToken(text);
    const providers = this.#providersOf(token);
    return await firstThatAccepts(providers, (provider) => {
      // Of several, only those whose audience it has may fetch keys and cost a verification.
      if (providers.length > 1) this.#checkClaims(token, provider);
      if (isSigning(provider)) return this.#verifyFor(provider, token, waitFor);
      this.#checkClaims(token, provider);
      return introspect(text, provider, waitFor);
    });
  }

  async #verifyFor(
    provider: SigningProvider,
    token: UnverifiedToken,
    waitFor: WaitFor,
  ): Promise<JsonObject> {
    const keys = await this.#verifySignature(token, provider, waitFor);
    const expiresAt = this.#checkClaims(token, provider);
    const { text, claims } = token;
    this.#cache.add({ text, claims, provider, keys, expiresAt });
    return claims;
  }

  /** Returns the providers with the issuer of a token, at least one. @throws {TokenError} */
  #providersOf({ claims }: UnverifiedToken): readonly TokenProvider[] {
    const { iss } = claims;
    const providers = typeof iss === "string"
      ? this.#providers.get(iss)
      : undefined;
    if (providers !== undefined) return providers;
    if (iss === undefined) throw new TokenError("token has no issuer");
    if (typeof iss !== "string") {
      throw new TokenError("token issuer is not a string");
    }
    // The token is not verified yet: anyone may have written this issuer.
    const found = `has unverified issuer ${showValues([iss])}`;
    throw new TokenError(
      "token issuer is not accepted",
      compareValues(found, [...this.#providers.keys()]),
    );
  }

  async #verifySignature(
    token: UnverifiedToken,
    provider: SigningProvider,
    waitFor: WaitFor,
  ): Promise<KeySet> {
    const { keys: source } = provider;
    const known = source.get();
    let keys = known instanceof Promise
      ? await waitFor(keysOf(provider), known)
      : known;
    while (true) {
      const problem = await signatureProblem(token, keys);
      if (problem === undefined) return keys;
      const issuedBy = await this.#issuedBy(token, provider, keys);
      if (issuedBy === undefined) throw problem;
      // The provider may have added a key, or replaced the one with this id.
      const newer = await waitFor(
        `newer ${keysOf(provider)}`,
        source.newer(keys, issuedBy),
      );
      if (newer === keys) throw problem;
      keys = newer;
    }
  }

  /** When a token was issued at the latest, by its own account; `undefined` when its claims reject it whatever its key. */
  async #issuedBy(
    token: UnverifiedToken,
    provider: TokenProvider,
    { withdrawn = [] }: KeySet,
  ): Promise<number | undefined> {
    const { claims } = token;
    try {
      this.#checkClaims(token, provider);
    } catch (error) {
      if (error instanceof TokenError) return undefined;
      throw error;
    }
    // A withdrawn key has signed it, so no new key has. The provider may still bring that key back.
    const known = { keys: withdrawn, ignored: [] };
    if (await signatureProblem(token, known) === undefined) return -Infinity;
    const { iat } = claims;
    // Without a time of issue (RFC 9068 section 2.2 requires it), nothing says that the token is newer than the keys.
    return typeof iat === "number" ? iat * 1000 + this.#clockSkewMs : -Infinity;
  }

  /** Returns when the claims expire. @throws {TokenError} */
  #checkClaims(
    { claims }: UnverifiedToken,
    { audiences }: TokenProvider,
  ): number {
    const rules = { audiences, clockSkewMs: this.#clockSkewMs };
    return checkClaims(claims, rules, this.#clock.now());
  }
}

function isSigning(provider: TokenProvider): provider is SigningProvider {
  return provider.keys !== undefined;
}

/** Returns the claims from the first provider that accepts a token. @throws {TokenError | DocumentUnavailableError} */
async function firstThatAccepts(
  providers: readonly TokenProvider[],
  verify: (provider: TokenProvider) => JsonObject | Promise<JsonObject>,
): Promise<JsonObject> {
  const failures: FailedProvider[] = [];
  for (const provider of providers) {
    try {
      return await verify(provider);
    } catch (error) {
      if (!isVerificationError(error)) throw error;
      failures.push({ provider, error });
    }
  }
  throw failureOf(failures);
}

/** @throws {TokenError} As `TokenIntrospector.introspect`. */
function introspect(
  text: string,
  { issuer, introspector }: TokenProvider,
  waitFor: WaitFor,
): JsonObject | Promise<JsonObject> {
  if (introspector === undefined) throw new TokenError("token is opaque");
  const claims = introspector.introspect(text);
  return claims instanceof Promise
    ? waitFor(`introspection by ${issuer}`, claims)
    : claims;
}

function keysOf({ issuer }: TokenProvider): string {
  return `keys of ${issuer}`;
}

/** Returns why no key of a set has signed a token; `undefined` when one has. */
export async function signatureProblem(
  token: UnverifiedToken,
  keys: KeySet,
): Promise<TokenError | undefined> {
  const candidates = candidateKeys(keys, token.kid, token.algorithm);
  if (candidates.length === 0) return unknownKey(token, keys);
  for (const key of candidates) {
    if (await isSignedWith(token, key)) return undefined;
  }
  return new TokenError("token signature is invalid");
}

function unknownKey(
  { kid }: UnverifiedToken,
  { keys }: KeySet,
): TokenError {
  if (kid === undefined) {
    return new TokenError(
      "token has no key id, and the provider does not have exactly one matching key",
    );
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
