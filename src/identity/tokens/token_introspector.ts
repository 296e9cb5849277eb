import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { describeError, GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { DocumentUnavailableError } from "../documents/remote_document.ts";
import type { Introspection } from "./introspection.ts";
import { TokenError } from "./token.ts";
import { TokenCache } from "./token_cache.ts";

/** Nobody knows whether a token is active: its authorization server cannot be asked. */
export class IntrospectionUnavailableError extends DocumentUnavailableError {}

/** Options of a `TokenIntrospector`. */
export interface TokenIntrospectorOptions {
  readonly clock: Clock;
  /** Time for which a token is believed to be active: a revoked one is rejected after that. */
  readonly cacheMs: number;
}

/** The verdict about a token; `text` is a digest of it. */
interface KnownToken {
  readonly text: string;
  readonly expiresAt: number;
  readonly verdict: JsonObject | TokenError;
}

/** Time for which a token is believed not to be active: anybody can send any number of others. */
const INACTIVE_MS = 10_000;
/** Requests to the server at a time. */
const MAX_REQUESTS = 256;
const RETRY_AFTER_SECONDS = 2;

/** Asks an authorization server about tokens, each once at a time, and remembers what it says for a short time. */
export class TokenIntrospector {
  readonly #introspection: Pick<Introspection, "ask">;
  readonly #options: TokenIntrospectorOptions;
  readonly #active = new TokenCache<KnownToken>();
  /** Apart from the active ones, which invented tokens must not evict. */
  readonly #inactive = new TokenCache<KnownToken>();
  readonly #pending = new Map<string, Promise<JsonObject>>();

  constructor(
    introspection: Pick<Introspection, "ask">,
    options: TokenIntrospectorOptions,
  ) {
    this.#introspection = introspection;
    this.#options = options;
  }

  /** Number of tokens that are known to be active, and capacity. */
  get occupancy(): TokenCache<KnownToken>["occupancy"] {
    return this.#active.occupancy;
  }

  /**
   * Returns the claims of an active token: the same object for the same token while it is remembered.
   * @throws {TokenError} When it is not active (as all errors, also as a rejection).
   * @throws {IntrospectionUnavailableError} When the server cannot be asked, or too many requests are in progress.
   */
  introspect(token: string): JsonObject | Promise<JsonObject> {
    const { clock } = this.#options;
    const digest = createHash("sha256").update(token).digest("base64url");
    const now = clock.now();
    const known = this.#active.get(digest, now) ??
      this.#inactive.get(digest, now);
    if (known !== undefined) {
      if (known.verdict instanceof TokenError) throw known.verdict;
      return known.verdict;
    }
    const pending = this.#pending.get(digest);
    if (pending !== undefined) return pending;
    if (this.#pending.size >= MAX_REQUESTS) {
      throw unavailable(new Error("too many tokens are being introspected"));
    }
    const asking = this.#ask(token, digest)
      .finally(() => this.#pending.delete(digest));
    this.#pending.set(digest, asking);
    return asking;
  }

  async #ask(token: string, digest: string): Promise<JsonObject> {
    const { clock, cacheMs } = this.#options;
    // From before the request: a token that is revoked while it is under way is not believed for longer.
    const askedAt = clock.now();
    try {
      const { claims, expiresAt } = await this.#introspection.ask(token);
      this.#active.add({
        text: digest,
        verdict: claims,
        expiresAt: Math.min(expiresAt, askedAt + cacheMs),
      });
      return claims;
    } catch (error) {
      if (error instanceof TokenError) {
        this.#inactive.add({
          text: digest,
          verdict: error,
          expiresAt: askedAt + INACTIVE_MS,
        });
        throw error;
      }
      throw unavailable(error);
    }
  }
}

/** Errors of the library have the response as their cause. */
function unavailable(error: unknown): IntrospectionUnavailableError {
  return new IntrospectionUnavailableError(
    `Cannot introspect the token: ${
      error instanceof Error && !(error instanceof GatewayError)
        ? error.message
        : describeError(error)
    }`,
    RETRY_AFTER_SECONDS,
  );
}
