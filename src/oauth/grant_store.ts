import type { Clock } from "../base/clock.ts";

/** Remembers which codes were used and which grants ended, for as long as somebody could use them again. */
export interface GrantStore {
  /** Marks a code as used; `false` when it was used before. Rejects when nobody can tell. */
  spend(code: string, untilMs: number): Promise<boolean>;
  /** Ends a grant: its refresh tokens are rejected from now on. */
  end(grant: string, untilMs: number): Promise<void>;
  isEnded(grant: string): Promise<boolean>;
}

/** Each entry takes about 150 bytes. */
const MAX_CODES = 50_000;
const MAX_GRANTS = 10_000;

/**
 * Remembers codes and grants in this process.
 *
 * Replicas without a shared store rely on the provider for codes that are used at two of them: it accepts its own code,
 * which ours wraps, once.
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

/** Entries are in the order of their end, all having the same lifetime. */
function forgetExpired(entries: Map<string, number>, nowMs: number): void {
  for (const [key, untilMs] of entries) {
    if (nowMs < untilMs) return;
    entries.delete(key);
  }
}
