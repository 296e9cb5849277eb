import type { Clock } from "../../base/clock.ts";
import { SharedMap } from "../../base/shared_map.ts";
import type { BudgetDefinition } from "../budget/budget.ts";
import type {
  CounterLease,
  CounterStore,
  LimitIdentity,
} from "../local/counter_store.ts";
import type { LimitGrant, LimitRequest } from "./limit_registry.ts";
import { KeyLimit } from "../local/key_limit.ts";
import type { KeyHash } from "./key_hash.ts";
import { SharedMemory } from "./limit_memory.ts";

/** Source of the memory of limits for a thread: the control thread. */
export interface LimitSource {
  /** Number of this thread. */
  readonly thread: number;
  acquire(requests: readonly LimitRequest[]): Promise<LimitGrant>;
  release(request: LimitRequest): void;
}

/** A limit of this thread, and its arrival. */
interface Entry {
  readonly limit: KeyLimit<KeyHash>;
  readonly request: LimitRequest;
  bound: Promise<void> | undefined;
}

/** Limits of one of several threads that count together; the control thread describes them. */
export class SharedCounterStore implements CounterStore {
  readonly #source: LimitSource;
  readonly #clock: Pick<Clock, "monotonic" | "now">;
  readonly #limits = new SharedMap<Entry>();
  /** Changes with `aheadMs`. */
  readonly #time: { clock: Pick<Clock, "monotonic" | "now">; aheadMs: number };
  /** Shortest time that a message and its response took; the difference of the clocks is known as exactly. */
  #roundTripMs = Infinity;

  constructor(
    source: LimitSource,
    clock: Pick<Clock, "monotonic" | "now">,
  ) {
    this.#source = source;
    this.#clock = clock;
    this.#time = { clock, aheadMs: 0 };
  }

  lease(): CounterLease {
    const entries: Entry[] = [];
    const releases: (() => void)[] = [];
    return {
      limit: (identity, definition) => {
        const { value, release } = this.#limits.acquire(
          JSON.stringify([identity, definition]),
          () => this.#create(identity, definition),
          ({ bound, request }) => {
            if (bound !== undefined) this.#source.release(request);
          },
        );
        entries.push(value);
        releases.push(release);
        return value.limit;
      },
      ready: () => this.#bind(entries),
      release() {
        for (const release of releases.splice(0)) release();
      },
    };
  }

  counts(): readonly [] {
    return [];
  }

  describe(): readonly [] {
    return [];
  }

  /** The control thread resets limits. */
  reset(): number {
    return 0;
  }

  #create(identity: LimitIdentity, definition: BudgetDefinition): Entry {
    const limit = new KeyLimit<KeyHash>(identity, definition, this.#time);
    return { limit, request: { identity, definition }, bound: undefined };
  }

  async #bind(entries: readonly Entry[]): Promise<void> {
    const missing = entries.filter(({ bound }) => bound === undefined);
    if (missing.length > 0) {
      const arrival = this.#acquire(missing);
      for (const entry of missing) entry.bound = arrival;
    }
    await Promise.all(new Set(entries.map(({ bound }) => bound)));
  }

  async #acquire(entries: readonly Entry[]): Promise<void> {
    const sentAt = this.#clock.monotonic();
    const requests = entries.map(({ request }) => request);
    const { memories, holder, now } = await this.#source.acquire(requests);
    this.#compareClocks(sentAt, now);
    for (const [at, { limit }] of entries.entries()) {
      const memory = memories[at];
      if (memory === undefined) throw new TypeError("A limit has no memory");
      limit.bind(new SharedMemory(memory, this.#source.thread, holder));
    }
  }

  #compareClocks(sentAt: number, controlNow: number): void {
    const receivedAt = this.#clock.monotonic();
    if (receivedAt - sentAt > this.#roundTripMs) return;
    this.#roundTripMs = receivedAt - sentAt;
    this.#time.aheadMs = Math.round(controlNow - (sentAt + receivedAt) / 2);
  }
}
