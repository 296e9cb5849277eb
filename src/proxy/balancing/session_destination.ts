import type { RetryBudget } from "./retry_budget.ts";
import type { BalancedEndpoint } from "./balanced_endpoint.ts";
import type { Destination } from "./attempt_target.ts";
import type { EndpointPool } from "./endpoint_pool.ts";
import { sessionLost } from "./session_mark.ts";

/** A backend with a pool. */
type PooledDestination = Pick<Destination, "prepare" | "connectFailed"> & {
  readonly pool: EndpointPool;
  readonly retries: RetryBudget;
};

/** A backend as requests of one MCP session see it: they all go to the endpoint that began the session. */
export class SessionDestination implements Destination {
  readonly #destination: PooledDestination;
  readonly #endpoint: number;

  /** @param endpoint Hash of the endpoint. */
  constructor(destination: PooledDestination, endpoint: number) {
    this.#destination = destination;
    this.#endpoint = endpoint;
  }

  get retries(): RetryBudget {
    return this.#destination.retries;
  }

  prepare(): Promise<void> | undefined {
    return this.#destination.prepare();
  }

  /** @throws {JsonRpcError} `mcp_session_lost` */
  choose(): BalancedEndpoint {
    const { pool } = this.#destination;
    const endpoint = pool.find(this.#endpoint);
    if (endpoint === undefined) throw sessionLost("its endpoint is gone");
    if (!pool.isUsable(endpoint)) {
      throw sessionLost(`its endpoint ${endpoint.label} fails its checks`);
    }
    return endpoint;
  }

  hasAnother(): boolean {
    return false;
  }

  connectFailed(): void {
    this.#destination.connectFailed();
  }
}
