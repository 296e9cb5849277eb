import type { AttemptTarget, Destination } from "./attempt_target.ts";
import type { EndpointPool } from "./endpoint_pool.ts";
import type { RetryBudget } from "./retry_budget.ts";

/** A backend as requests of a persistent session see it: the endpoint of the session gets the first attempt as long as it is usable. */
export class StickyDestination implements Destination {
  readonly #destination: Destination & { readonly pool: EndpointPool };
  readonly #endpoint: number;

  /** @param endpoint Hash of the endpoint. */
  constructor(
    destination: Destination & { readonly pool: EndpointPool },
    endpoint: number,
  ) {
    this.#destination = destination;
    this.#endpoint = endpoint;
  }

  get retries(): RetryBudget | undefined {
    return this.#destination.retries;
  }

  get size(): number {
    return this.#destination.pool.size;
  }

  preferring(endpoint: number): Destination {
    return new StickyDestination(this.#destination, endpoint);
  }

  prepare(): Promise<void> | undefined {
    return this.#destination.prepare();
  }

  choose(
    tried: readonly AttemptTarget[],
    key: number | undefined,
    mayRepeat: boolean,
  ): AttemptTarget {
    const { pool } = this.#destination;
    const own = tried.length === 0 ? pool.find(this.#endpoint) : undefined;
    return own !== undefined && pool.isUsable(own)
      ? own
      : this.#destination.choose(tried, key, mayRepeat);
  }

  hasAnother(tried: readonly AttemptTarget[]): boolean {
    return this.#destination.hasAnother(tried);
  }

  connectFailed(): void {
    this.#destination.connectFailed();
  }
}
