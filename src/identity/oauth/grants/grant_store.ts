import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import { OAuthError } from "../protocol/oauth_error.ts";

/** Records used codes and ended grants until they expire. */
export interface GrantStore {
  /** Marks a code as used; resolves to `false` if it was used before. Rejects when the store is not available. */
  spend(code: string, untilMs: number): Promise<boolean>;
  /** Forgets that a code was used: the provider could not be asked to redeem it. */
  release(code: string): Promise<void>;
  /** Ends a grant: its refresh tokens are rejected from now on. */
  end(grant: string, untilMs: number): Promise<void>;
  isEnded(grant: string): Promise<boolean>;
}

/** Rejects with an error for the client in place of that of a store: the client may retry with the same code or token. */
export function withClientErrors(store: GrantStore): GrantStore {
  return {
    spend: (code, untilMs) =>
      store.spend(code, untilMs).catch(storeUnavailable),
    release: (code) => store.release(code).catch(storeUnavailable),
    end: (grant, untilMs) => store.end(grant, untilMs).catch(storeUnavailable),
    isEnded: (grant) => store.isEnded(grant).catch(storeUnavailable),
  };
}

/** @throws {OAuthError} `temporarily_unavailable` */
export function storeUnavailable(error: unknown): never {
  throw new OAuthError(
    "temporarily_unavailable",
    "the store of the gateway is not available",
    describeError(error),
    2,
  );
}

/** Each entry takes about 150 bytes. */
const MAX_CODES = 50_000;
const MAX_GRANTS = 10_000;

/**
 * Records codes and grants in the memory of this process.
 *
 * If a client uses a code at two replicas without a shared store, the provider rejects the second use: its own code, which the
 * gateway's wraps, is valid once.
 */
export class MemoryGrantStore implements GrantStore {
  readonly #codes = new Map<string, number>();
  readonly #ended = new Map<string, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  spend(code: string, untilMs: number): Promise<boolean> {
    if (this.#codes.has(code)) return Promise.resolve(false);
    forgetExpired(this.#codes, this.#clock.now());
    if (this.#codes.size >= MAX_CODES) {
      return Promise.reject(
        new Error(`${MAX_CODES} codes were used within a minute`),
      );
    }
    this.#codes.set(code, untilMs);
    return Promise.resolve(true);
  }

  release(code: string): Promise<void> {
    this.#codes.delete(code);
    return Promise.resolve();
  }

  end(grant: string, untilMs: number): Promise<void> {
    forgetExpired(this.#ended, this.#clock.now());
    const [oldest] = this.#ended.keys();
    if (this.#ended.size >= MAX_GRANTS && oldest !== undefined) {
      this.#ended.delete(oldest);
    }
    this.#ended.set(grant, untilMs);
    return Promise.resolve();
  }

  isEnded(grant: string): Promise<boolean> {
    return Promise.resolve(this.#ended.has(grant));
  }
}

/** All entries have the same lifetime, so they are in the order of expiry. */
function forgetExpired(entries: Map<string, number>, nowMs: number): void {
  for (const [key, untilMs] of entries) {
    if (nowMs < untilMs) return;
    entries.delete(key);
  }
}
