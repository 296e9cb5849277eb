import { lookup } from "node:dns/promises";
import type { Clock } from "../../base/clock.ts";

/** Age from which addresses are looked up again, while requests use the old ones. */
const REFRESH_MS = 30_000;
/** Age from which requests wait for new addresses. */
const STALE_MS = 300_000;
/** Pause after a failed look-up. */
const RETRY_MS = 1000;
/** Further addresses of a name are ignored. */
const MAX_ADDRESSES = 256;

/** Returns the IP addresses of a name, the preferred ones first (RFC 6724); rejects when there are none. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** Asks the operating system: `/etc/hosts`, then DNS. */
export async function systemLookup(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
}

/** Dependencies of the addresses of a name. */
export interface HostAddressesOptions {
  readonly host: string;
  readonly lookup: Lookup;
  readonly clock: Clock;
  /** Called with the addresses whenever they are looked up. */
  readonly onChange: (addresses: readonly string[]) => void;
}

/** The addresses of a name. They are looked up when requests need them, so that names without requests cost nothing. */
export class HostAddresses {
  readonly #options: HostAddressesOptions;
  /** Monotonic time of the last successful look-up. */
  #knownSince = -Infinity;
  #dueAt = -Infinity;
  #pending: Promise<void> | undefined;

  constructor(options: HostAddressesOptions) {
    this.#options = options;
  }

  /**
   * Looks the addresses up when they are old. Returns a promise if the request has to wait: it rejects when there has never been
   * an address.
   */
  use(): Promise<void> | undefined {
    const now = this.#options.clock.monotonic();
    if (now < this.#dueAt) return undefined;
    this.#pending ??= this.#refresh().finally(() => this.#pending = undefined);
    if (now - this.#knownSince >= STALE_MS) return this.#pending;
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

  async #refresh(): Promise<void> {
    const { host, lookup, clock, onChange } = this.#options;
    const wasKnown = this.#knownSince !== -Infinity;
    try {
      const addresses = await lookup(host);
      if (addresses.length === 0) throw new Error(`"${host}" has no address`);
      this.#knownSince = clock.monotonic();
      this.#dueAt = this.#knownSince + REFRESH_MS;
      onChange(addresses.slice(0, MAX_ADDRESSES));
    } catch (error) {
      if (!wasKnown) throw error;
      this.#dueAt = clock.monotonic() + RETRY_MS;
    }
  }
}
