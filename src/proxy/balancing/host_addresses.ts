import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { LookupSettings } from "../../snapshot/backend.ts";
import type { Lookup } from "../../base/wire/system_lookup.ts";

/** Age, as a multiple of `refreshMs`, from which requests wait for new addresses. */
const STALE = 10;
/** Pause after a failed look-up. */
const RETRY_MS = 1000;
/** Further addresses of a name are ignored. */
const MAX_ADDRESSES = 256;

/** Dependencies of the addresses of a name. */
export interface HostAddressesOptions {
  readonly host: string;
  readonly lookup: Lookup;
  readonly settings: LookupSettings;
  readonly clock: Clock;
  /** Called with the addresses whenever they are looked up. */
  readonly onChange: (addresses: readonly string[]) => void;
}

/** State of the addresses of a name. */
export interface LookupReading {
  readonly host: string;
  /** Those in use. */
  readonly addresses: readonly string[];
  /** Number of addresses beyond those that can be used. */
  readonly ignored: number;
  /** `null` before the first successful look-up. */
  readonly ageMs: number | null;
  /** Error of the latest look-up, if it failed. */
  readonly error: string | null;
  readonly counts: { readonly success: number; readonly failure: number };
}

/**
 * The addresses of a name. They are looked up when requests need them, so that names without requests cost nothing. After a failed
 * look-up, the addresses that are known stay in use.
 */
export class HostAddresses {
  readonly #options: HostAddressesOptions;
  #addresses: readonly string[] = [];
  #found = 0;
  #error: string | null = null;
  readonly #counts = { success: 0, failure: 0 };
  /** Monotonic time of the last successful look-up. */
  #knownSince = -Infinity;
  #dueAt = -Infinity;
  /** The wait of requests, which the time-out ends. */
  #pending: Promise<void> | undefined;
  /** The look-up under way, which goes on after the time-out. */
  #underWay: Promise<readonly string[]> | undefined;

  constructor(options: HostAddressesOptions) {
    this.#options = options;
  }

  /**
   * Looks the addresses up when they are old. Returns a promise if the request has to wait: it rejects when there has never been
   * an address.
   */
  use(): Promise<void> | undefined {
    const { clock, settings: { refreshMs } } = this.#options;
    const now = clock.monotonic();
    if (now < this.#dueAt) return undefined;
    this.#pending ??= this.#refresh().finally(() => this.#pending = undefined);
    if (now - this.#knownSince >= STALE * refreshMs) return this.#pending;
    // The addresses that are known stay in use.
    this.#pending.catch(() => {});
    return undefined;
  }

  /** Looks the addresses up soon: connections to them fail. */
  expire(): void {
    const { clock } = this.#options;
    const soonest = this.#knownSince + RETRY_MS;
    this.#dueAt = Math.min(this.#dueAt, Math.max(clock.monotonic(), soonest));
  }

  describe(): LookupReading {
    const { host, clock } = this.#options;
    return {
      host,
      addresses: this.#addresses,
      ignored: this.#found - this.#addresses.length,
      ageMs: this.#knownSince === -Infinity
        ? null
        : clock.monotonic() - this.#knownSince,
      error: this.#error,
      counts: this.#counts,
    };
  }

  async #refresh(): Promise<void> {
    const { clock } = this.#options;
    const wasKnown = this.#knownSince !== -Infinity;
    try {
      await this.#lookUp();
    } catch (error) {
      this.#counts.failure++;
      this.#error = describeError(error);
      this.#dueAt = clock.monotonic() + RETRY_MS;
      if (!wasKnown) throw error;
    }
  }

  /** Waits for the look-up, no longer than the time-out; a late result is used too. */
  async #lookUp(): Promise<void> {
    const { host, lookup, clock, settings: { timeoutMs } } = this.#options;
    this.#underWay ??= lookup(host).finally(() => this.#underWay = undefined);
    const underWay = this.#underWay.then((found) => this.#learn(found));
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    const cancelTimer = clock.setTimer(
      () => reject(new Error(`No address of "${host}" in ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      await Promise.race([underWay, tooLate]);
    } finally {
      cancelTimer();
    }
  }

  #learn(found: readonly string[]): void {
    const { host, clock, settings: { refreshMs }, onChange } = this.#options;
    if (found.length === 0) throw new Error(`"${host}" has no address`);
    this.#counts.success++;
    this.#knownSince = clock.monotonic();
    this.#dueAt = this.#knownSince + refreshMs;
    this.#error = null;
    this.#found = found.length;
    this.#addresses = found.slice(0, MAX_ADDRESSES);
    onChange(this.#addresses);
  }
}
