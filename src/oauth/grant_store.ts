import type { Clock } from "../base/clock.ts";

/** Records used codes and ended grants until they expire. */
export interface GrantStore {
  /** Marks a code as used; resolves to `false` if it was used before. Rejects when the store is not available. */
  spend(code: string, untilMs: number): Promise<boolean>;
  /** Ends a grant: its refresh tokens are rejected from now on. */
  end(grant: string, untilMs: number): Promise<void>;
  isEnded(grant: string): Promise<boolean>;
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
