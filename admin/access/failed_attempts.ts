import type { Clock } from "../../src/base/clock.ts";
import { clientKey } from "../../src/base/wire/ip_address.ts";

/** Failures of an address that cost nothing: somebody mistypes, or a page has an old token. */
const FREE_FAILURES = 10;
const FIRST_LOCK_MS = 1000;
const MAX_LOCK_MS = 30_000;
/** Failures are forgotten after this time without another. */
const FORGET_MS = 10 * 60_000;
const MAX_ADDRESSES = 1024;

/** Failures of all addresses together that cost nothing, and how many more there may be per second. */
const FREE_IN_SUM = 100;
const PER_SECOND_IN_SUM = 10;

interface Failures {
  count: number;
  lastAt: number;
  lockedUntil: number;
  /** Attempts that were not checked since the last that was. */
  skipped: number;
}

/**
 * Slows down guesses of a token. An address that fails too often waits from one second to half a minute, and attempts while it waits
 * are not checked and do not prolong that. An address whose token was right waits for its own failures only.
 */
export class FailedAttempts {
  readonly #clock: Pick<Clock, "monotonic">;
  /** By address, the one that failed last at the end. */
  readonly #byAddress = new Map<string, Failures>();
  /** Addresses whose token was right, the last one at the end. */
  readonly #trusted = new Set<string>();
  #allowance = FREE_IN_SUM;
  #countedAt = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#countedAt = clock.monotonic();
  }

  /** Returns for how many milliseconds no token of the address is checked; 0 if it may be checked now. */
  waitMs(address: string): number {
    const key = clientKey(address);
    const now = this.#clock.monotonic();
    const failures = this.#byAddress.get(key);
    const own = Math.max(0, (failures?.lockedUntil ?? 0) - now);
    const wait = own > 0 || this.#trusted.has(key) ? own : this.#waitInSum(now);
    if (wait > 0 && failures !== undefined) failures.skipped++;
    return wait;
  }

  /** Counts a wrong token. Returns the failures of the address, and how many attempts were not checked since the last one. */
  failed(
    address: string,
  ): { readonly failures: number; readonly skipped: number } {
    const key = clientKey(address);
    const now = this.#clock.monotonic();
    const before = this.#byAddress.get(key);
    this.#byAddress.delete(key);
    const isRecent = before !== undefined && now - before.lastAt < FORGET_MS;
    const count = isRecent ? before.count + 1 : 1;
    const doublings = count - FREE_FAILURES - 1;
    const lockMs = doublings < 0
      ? 0
      : Math.min(FIRST_LOCK_MS * 2 ** doublings, MAX_LOCK_MS);
    dropOldest(this.#byAddress);
    this.#byAddress.set(key, {
      count,
      lastAt: now,
      lockedUntil: now + lockMs,
      skipped: 0,
    });
    this.#waitInSum(now);
    this.#allowance -= 1;
    return { failures: count, skipped: before?.skipped ?? 0 };
  }

  /** Forgets the failures of an address whose token is right. */
  succeeded(address: string): void {
    const key = clientKey(address);
    this.#byAddress.delete(key);
    this.#trusted.delete(key);
    dropOldest(this.#trusted);
    this.#trusted.add(key);
  }

  #waitInSum(now: number): number {
    const earned = (now - this.#countedAt) / 1000 * PER_SECOND_IN_SUM;
    this.#allowance = Math.min(FREE_IN_SUM, this.#allowance + earned);
    this.#countedAt = now;
    return this.#allowance >= 1 ? 0 : 1000;
  }
}

function dropOldest(
  known: Pick<Map<string, unknown>, "size" | "keys"> & {
    delete(key: string): boolean;
  },
): void {
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size >= MAX_ADDRESSES) known.delete(oldest);
}
