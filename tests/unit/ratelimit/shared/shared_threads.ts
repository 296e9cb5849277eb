import type { BudgetDefinition } from "../../../../src/ratelimit/budget/budget.ts";
import type {
  CounterLease,
  CounterStore,
  Limit,
} from "../../../../src/ratelimit/local/counter_store.ts";
import type {
  LimitGrant,
  LimitRegistry,
  LimitRequest,
} from "../../../../src/ratelimit/shared/limit_registry.ts";
import { SharedCounterStore } from "../../../../src/ratelimit/shared/shared_counter_store.ts";

/** Work for `counting_worker.ts`. */
export interface CountingWork {
  readonly thread: number;
  readonly grant: LimitGrant;
  readonly requests: readonly LimitRequest[];
  /** Keys of the limits, in the order in which requests use them; each request takes one of the keys of each. */
  readonly keys: readonly (readonly string[])[];
  /** Indexes of the limits that requests count against. */
  readonly order: readonly number[];
  readonly attempts: number;
  /** Lock the first limit and never unlock it. */
  readonly endsHolding: boolean;
}

export const minute = 60_000;

export function definitionOf(
  definition: Partial<BudgetDefinition>,
): BudgetDefinition {
  return {
    unit: "requests",
    base: 3,
    burst: 0,
    windowMs: minute,
    overshoot: "Forgive",
    ...definition,
  };
}

export function requestOf(
  name: string,
  definition: Partial<BudgetDefinition>,
  isKeyed = false,
): LimitRequest {
  return {
    identity: { scope: "HTTPRoute/default/a", name, words: name, isKeyed },
    definition: definitionOf(definition),
  };
}

/** A store of a thread that is this one. */
export function storeOf(
  registry: LimitRegistry,
  clock = { monotonic: () => 0, now: () => 0 },
): SharedCounterStore {
  const thread = registry.addThread();
  return new SharedCounterStore({
    thread,
    acquire: (requests) => Promise.resolve(registry.acquire(thread, requests)),
    release: (request) => registry.release(thread, request),
  }, clock);
}

/** Leases limits that are ready. */
export async function lease(
  store: Pick<CounterStore, "lease">,
  ...requests: readonly LimitRequest[]
): Promise<
  { readonly limits: readonly Limit[]; readonly lease: CounterLease }
> {
  const lease = store.lease();
  const limits = requests.map(({ identity, definition }) =>
    lease.limit(identity, definition)
  );
  await lease.ready();
  return { limits, lease };
}

/** A worker that counts requests. */
export class CountingThread implements Disposable {
  readonly number: number;
  readonly #worker = new Worker(
    new URL("counting_worker.ts", import.meta.url),
    { type: "module" },
  );
  readonly #registry: LimitRegistry;
  #port: MessagePort | undefined;

  constructor(registry: LimitRegistry) {
    this.#registry = registry;
    this.number = registry.addThread();
  }

  /** Returns how many requests were admitted, or "holding". */
  run(
    requests: readonly LimitRequest[],
    work: Partial<CountingWork>,
  ): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = ({ data }) => {
      port1.close();
      resolve(data);
    };
    const all: CountingWork = {
      thread: this.number,
      grant: this.#registry.acquire(this.number, requests),
      requests,
      keys: requests.map(() => [""]),
      order: requests.map((_, at) => at),
      attempts: 1000,
      endsHolding: false,
      ...work,
    };
    this.#worker.postMessage(all, [port2]);
    return promise;
  }

  [Symbol.dispose](): void {
    this.#worker.terminate();
    this.#port?.close();
  }
}
