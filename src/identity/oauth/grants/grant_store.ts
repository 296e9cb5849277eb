import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import { setNewest } from "../../../base/kept_values.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import type { GrantId, GrantRecord } from "./grant_record.ts";

/** Records used codes and grants until they expire. */
export interface GrantStore {
  /** Marks a code as used; resolves to `false` if it was used before. Rejects when the store is not available. */
  spend(code: string, untilMs: number): Promise<boolean>;
  /** Forgets that a code was used: the provider could not be asked to redeem it. */
  release(code: string): Promise<void>;
  /** Adds a grant to the list. */
  add(grant: GrantRecord, untilMs: number): Promise<void>;
  /** Records that the client of a grant got a token; does nothing for a grant that is not in the list. */
  touch(grant: GrantId, usedAt: number, untilMs: number): Promise<void>;
  /** Lists the grants that have not ended, the oldest first. */
  list(): Promise<readonly GrantRecord[]>;
  /** Ends a grant: its tokens are rejected from now on. */
  end(grant: GrantId, untilMs: number): Promise<void>;
  isEnded(grant: string): Promise<boolean>;
  /** Records the use of the refresh token with this number of a grant, and says whether that or a later one was used before. */
  useToken(grant: string, number: number, untilMs: number): Promise<TokenUse>;
  /** Forgets that a refresh token was used: the provider could not be asked. */
  releaseToken(grant: string, number: number, untilMs: number): Promise<void>;
}

/** `repeated`: the latest token was used a moment ago, by a client that did not get the response. */
export type TokenUse = "first" | "repeated" | "reused";

/** The refresh token of a grant that was used last. */
export interface LastToken {
  readonly number: number;
  /** In milliseconds since the epoch. */
  readonly usedAt: number;
}

/** Time for which a client may repeat a request whose response it did not get. */
export const REPEAT_MS = 60_000;

/** Returns how a use of a refresh token relates to the last one. */
export function rateUse(
  last: LastToken | undefined,
  { number, usedAt }: LastToken,
): TokenUse {
  if (last === undefined || number > last.number) return "first";
  const isRepeated = number === last.number &&
    usedAt - last.usedAt < REPEAT_MS;
  return isRepeated ? "repeated" : "reused";
}

/** Returns the record after a token was released: the next use of it is the first. */
export function withoutUse(number: number): LastToken {
  return { number: number - 1, usedAt: 0 };
}

/** Rejects with an error for the client in place of that of a store: the client may retry with the same code or token. */
export function withClientErrors(store: GrantStore): GrantStore {
  return {
    spend: (code, untilMs) =>
      store.spend(code, untilMs).catch(storeUnavailable),
    release: (code) => store.release(code).catch(storeUnavailable),
    add: (grant, untilMs) => store.add(grant, untilMs).catch(storeUnavailable),
    touch: (...use) => store.touch(...use).catch(storeUnavailable),
    list: () => store.list().catch(storeUnavailable),
    end: (grant, untilMs) => store.end(grant, untilMs).catch(storeUnavailable),
    isEnded: (grant) => store.isEnded(grant).catch(storeUnavailable),
    useToken: (...use) => store.useToken(...use).catch(storeUnavailable),
    releaseToken: (...use) =>
      store.releaseToken(...use).catch(storeUnavailable),
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
  /** The oldest first. */
  readonly #grants = new Map<string, GrantRecord & { untilMs: number }>();
  /** Least recently used first. */
  readonly #tokens = new Map<string, LastToken>();
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

  add(grant: GrantRecord, untilMs: number): Promise<void> {
    if (this.#ended.has(grant.id)) return Promise.resolve();
    setNewest(this.#grants, grant.id, { ...grant, untilMs }, MAX_GRANTS);
    return Promise.resolve();
  }

  touch({ id }: GrantId, usedAt: number, untilMs: number): Promise<void> {
    const known = this.#grants.get(id);
    if (known !== undefined) {
      this.#grants.set(id, { ...known, usedAt, untilMs });
    }
    return Promise.resolve();
  }

  list(): Promise<readonly GrantRecord[]> {
    const now = this.#clock.now();
    return Promise.resolve(
      [...this.#grants.values()].filter(({ untilMs }) => now < untilMs)
        .map(({ untilMs: _, ...grant }) => grant),
    );
  }

  end({ id: grant }: GrantId, untilMs: number): Promise<void> {
    this.#grants.delete(grant);
    forgetExpired(this.#ended, this.#clock.now());
    setNewest(this.#ended, grant, untilMs, MAX_GRANTS);
    return Promise.resolve();
  }

  isEnded(grant: string): Promise<boolean> {
    return Promise.resolve(this.#ended.has(grant));
  }

  useToken(grant: string, number: number): Promise<TokenUse> {
    const use = { number, usedAt: this.#clock.now() };
    const rating = rateUse(this.#tokens.get(grant), use);
    if (rating === "first") setNewest(this.#tokens, grant, use, MAX_GRANTS);
    return Promise.resolve(rating);
  }

  releaseToken(grant: string, number: number): Promise<void> {
    if (this.#tokens.get(grant)?.number === number) {
      setNewest(this.#tokens, grant, withoutUse(number), MAX_GRANTS);
    }
    return Promise.resolve();
  }
}

/** All entries have the same lifetime, so they are in the order of expiry. */
function forgetExpired(entries: Map<string, number>, nowMs: number): void {
  for (const [key, untilMs] of entries) {
    if (nowMs < untilMs) return;
    entries.delete(key);
  }
}
