import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { GlobalLimiter } from "./global_limiter.ts";
import type { ServiceAddress } from "./service/service_address.ts";
import type { GlobalLimit, GlobalLimitReading } from "./global_limit.ts";
import {
  createKvLimiter,
  createServiceLimiter,
  type LimiterCounts,
  type LimiterHandle,
} from "./limiter_handle.ts";

/** Who keeps the budgets of a domain: a store, by its file or URL, or a service. Equal places share a limiter. */
export type LimiterPlace =
  & { readonly domain: string }
  & ({ readonly kv: string } | { readonly service: ServiceAddress });

/** What a configuration uses of the limiters, until it gives it back. */
export interface LimiterLease {
  /** @param limits What it is going to be asked about. */
  limiter(place: LimiterPlace, limits: readonly GlobalLimit[]): GlobalLimiter;
  /** Requests under way may go on using what nobody else uses, for ten minutes. */
  release(): void;
}

/** A limiter and who uses it. */
interface Entry {
  readonly handle: LimiterHandle;
  /** What each user is going to ask about. */
  readonly users: Set<readonly GlobalLimit[]>;
  isOpen: boolean;
  /** Set once nobody uses it. */
  cancelRetirement: (() => void) | undefined;
}

/** How long a limiter lives that no configuration uses: requests that it admitted are charged when they end. */
const RETIREMENT_MS = 600_000;
/** Limiters that no configuration uses; the one that is unused for longest goes first. */
const MAX_RETIRED = 16;

/** Limiters of budgets that processes share; they outlive the configurations that name them. */
export class GlobalLimiters {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Set<Promise<void>>();

  constructor(
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#clock = clock;
    this.#log = log;
  }

  lease(): LimiterLease {
    const releases: (() => void)[] = [];
    return {
      limiter: (place, limits) => {
        const key = JSON.stringify(place);
        const entry = this.#use(key, place);
        // A set of its own for each use, however often they are configured.
        const user = [...limits];
        entry.users.add(user);
        releases.push(() => {
          entry.users.delete(user);
          if (entry.users.size === 0) this.#retire(key, entry);
        });
        return entry.handle.limiter;
      },
      release() {
        for (const release of releases.splice(0)) release();
      },
    };
  }

  /** Connects ahead of the first request. */
  open(): void {
    for (const entry of this.#entries.values()) {
      if (entry.isOpen) continue;
      entry.isOpen = true;
      void this.#open(entry.handle);
    }
  }

  /** Every limit in use, each once. */
  describe(): readonly GlobalLimitReading[] {
    return this.#inUse().flatMap(({ handle, users }) => {
      const limits = [...users].flat().map((limit) =>
        [JSON.stringify(limit), limit] as const
      );
      return handle.describe([...new Map(limits).values()]);
    });
  }

  /** Every limiter in use. */
  count(): readonly LimiterCounts[] {
    return this.#inUse().map(({ handle }) => handle.count());
  }

  /** Gives everything back; takes at most two seconds. */
  async close(): Promise<void> {
    for (const [key, entry] of this.#entries) this.#end(key, entry);
    await Promise.all(this.#closing);
  }

  #use(key: string, place: LimiterPlace): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.cancelRetirement?.();
      known.cancelRetirement = undefined;
      return known;
    }
    const entry: Entry = {
      handle: this.#create(place),
      users: new Set(),
      isOpen: false,
      cancelRetirement: undefined,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #create(place: LimiterPlace): LimiterHandle {
    const { domain } = place;
    const options = { domain, clock: this.#clock, log: this.#log };
    return "kv" in place
      ? createKvLimiter({ path: place.kv, ...options })
      : createServiceLimiter({ address: place.service, ...options });
  }

  async #open(handle: LimiterHandle): Promise<void> {
    try {
      await handle.open();
    } catch (error) {
      const { domain, store } = handle.count();
      this.#log.error(
        "Cannot reach who keeps global limits: until it can be reached, their requests are refused with 503, or pass where failureMode is Open",
        {
          domain,
          store,
          error,
        },
      );
    }
  }

  #retire(key: string, entry: Entry): void {
    // Of a configuration that never was in force: nobody was admitted.
    if (!entry.isOpen) return this.#end(key, entry);
    entry.cancelRetirement = this.#clock.setTimer(
      () => this.#end(key, entry),
      RETIREMENT_MS,
    );
    // To the end, so that the order is that of retirement.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const retired = [...this.#entries].filter(([, { users }]) =>
      users.size === 0
    );
    const [oldest] = retired;
    if (oldest !== undefined && retired.length > MAX_RETIRED) {
      this.#end(...oldest);
    }
  }

  #end(key: string, entry: Entry): void {
    entry.cancelRetirement?.();
    this.#entries.delete(key);
    const closing = entry.handle.close().finally(() =>
      this.#closing.delete(closing)
    );
    this.#closing.add(closing);
  }

  #inUse(): Entry[] {
    return [...this.#entries.values()].filter(({ users }) => users.size > 0);
  }
}
