import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log/log.ts";
import type { EgressPolicy } from "../base/wire/egress_policy.ts";
import type { LimitSelection } from "./local/counter_store.ts";
import type {
  GlobalLimit,
  GlobalLimiter,
  GlobalLimitReading,
} from "./limiter/global_limiter.ts";
import type { ServiceAddress } from "./service/service_address.ts";
import { KvLimiter } from "./kv/kv_limiter.ts";
import {
  CountedLimiter,
  type LimiterCounts,
} from "./limiter/counted_limiter.ts";
import { ServiceLimiter } from "./service/service_limiter.ts";

/** Place where the budgets of a domain are kept: a store, by its file or URL, or a service. Equal places share a limiter. */
export type LimiterPlace =
  & {
    readonly domain: string;
    /** Time that a request waits; the default of the kind if not set. */
    readonly timeoutMs?: number;
  }
  & ({ readonly kv: string } | { readonly service: ServiceAddress });

/** Returns what equal places have in common. */
export function limiterKey(place: LimiterPlace): string {
  return JSON.stringify(place);
}

/** Limiters used by a configuration until it releases them. */
export interface LimiterLease {
  /** @param limits Limits that will use it. */
  limiter(place: LimiterPlace, limits: readonly GlobalLimit[]): GlobalLimiter;
  /** Unused limiters stay available for ten minutes to requests in progress. */
  release(): void;
}

/** A limiter and its users. */
interface Entry {
  readonly limiter: CountedLimiter;
  /** Limits of each user. */
  readonly users: Set<readonly GlobalLimit[]>;
  isOpen: boolean;
  /** Set while it has no user. */
  cancelRetirement: (() => void) | undefined;
}

/** Lifetime of a limiter without users: requests that it admitted are charged when they end. */
const RETIREMENT_MS = 600_000;
/** Limiters without users that are kept; the one unused for longest is closed first. */
const MAX_RETIRED = 16;

/** Limiters of shared budgets; they outlive the configurations that use them. */
export class GlobalLimiters {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #egress: EgressPolicy;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Set<Promise<void>>();

  constructor(
    { clock, log, egress }: {
      readonly clock: Clock;
      readonly log: Log;
      /** Decides which services may be connected to. */
      readonly egress: EgressPolicy;
    },
  ) {
    this.#clock = clock;
    this.#log = log;
    this.#egress = egress;
  }

  lease(): LimiterLease {
    const releases: (() => void)[] = [];
    return {
      limiter: (place, limits) => {
        const key = limiterKey(place);
        const entry = this.#use(key, place);
        // A list of its own identifies each user.
        const user = [...limits];
        entry.users.add(user);
        releases.push(() => {
          entry.users.delete(user);
          if (entry.users.size === 0) this.#retire(key, entry);
        });
        return entry.limiter;
      },
      release() {
        for (const release of releases.splice(0)) release();
      },
    };
  }

  /** Returns the limiter of a place, also of one that was released a while ago. @param key See `limiterKey`. */
  find(key: string): GlobalLimiter | undefined {
    return this.#entries.get(key)?.limiter;
  }

  /** Connects before the first request. */
  open(): void {
    for (const entry of this.#entries.values()) {
      if (entry.isOpen) continue;
      entry.isOpen = true;
      void this.#open(entry.limiter);
    }
  }

  /** Describes every limit in use, each once. */
  describe(): readonly GlobalLimitReading[] {
    return this.#inUse().flatMap(({ limiter, users }) => {
      const limits = [...users].flat().map((limit) =>
        [JSON.stringify(limit), limit] as const
      );
      return limiter.describe([...new Map(limits).values()]);
    });
  }

  /** Makes budgets unused; returns how many. Rejects when a store fails. */
  async reset(selection: LimitSelection): Promise<number> {
    const counts = await Promise.all(
      this.#inUse().map(({ limiter, users }) =>
        limiter.reset([...users].flat(), selection)
      ),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Counts of every limiter in use. */
  count(): readonly LimiterCounts[] {
    return this.#inUse().map(({ limiter, users }) =>
      limiter.count([...users].flat())
    );
  }

  /** Closes all limiters; takes at most two seconds. */
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
      limiter: this.#create(place),
      users: new Set(),
      isOpen: false,
      cancelRetirement: undefined,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #create(place: LimiterPlace): CountedLimiter {
    const { domain, timeoutMs } = place;
    const options = { domain, clock: this.#clock, log: this.#log };
    const limiter = "kv" in place
      ? new KvLimiter({
        path: place.kv,
        ...options,
        ...(timeoutMs !== undefined && { waitMs: timeoutMs }),
      })
      : new ServiceLimiter({
        address: place.service,
        egress: this.#egress,
        ...options,
        ...(timeoutMs !== undefined && { deadlineMs: timeoutMs }),
      });
    return new CountedLimiter(limiter, options);
  }

  async #open(limiter: CountedLimiter): Promise<void> {
    try {
      await limiter.open();
    } catch (error) {
      const { domain, store } = limiter.status;
      this.#log.error(
        "Cannot reach the store or service of global limits: until then, requests get 503, or pass if failureMode is Open",
        {
          domain,
          store,
          error,
        },
      );
    }
  }

  #retire(key: string, entry: Entry): void {
    // The configuration was never in force: no request was admitted.
    if (!entry.isOpen) return this.#end(key, entry);
    entry.cancelRetirement = this.#clock.setTimer(
      () => this.#end(key, entry),
      RETIREMENT_MS,
    );
    // Moves the entry to the end: the order is that of retirement.
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
    const closing = entry.limiter.close().finally(() =>
      this.#closing.delete(closing)
    );
    this.#closing.add(closing);
  }

  #inUse(): Entry[] {
    return [...this.#entries.values()].filter(({ users }) => users.size > 0);
  }
}
