import { isIP, isIPv4 } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Endpoint } from "../../snapshot/snapshot.ts";
import type { AttemptTarget, Destination } from "./attempt_target.ts";
import type { EndpointPool } from "./endpoint_pool.ts";
import { HostAddresses, type Lookup } from "./host_addresses.ts";
import { RetryBudget } from "./retry_budget.ts";

/** Dependencies of a destination. */
export interface DestinationOptions {
  readonly pool: EndpointPool;
  /** Hosts and ports as configured; empty for services, whose endpoints come from elsewhere. */
  readonly hosts: readonly Endpoint[];
  readonly lookup: Lookup;
  readonly clock: Clock;
}

/** A host as configured, with the addresses that it has now. */
interface Host {
  readonly endpoint: Endpoint;
  readonly addresses: HostAddresses | undefined;
  known: readonly string[];
}

/** Resolves the hosts of a backend and keeps its pool up to date. */
export class BalancedDestination implements Destination {
  readonly pool: EndpointPool;
  readonly retries: RetryBudget;
  readonly #hosts: readonly Host[];
  readonly #names: readonly HostAddresses[];

  constructor({ pool, hosts, lookup, clock }: DestinationOptions) {
    this.pool = pool;
    this.retries = new RetryBudget(clock);
    this.#hosts = hosts.map((endpoint): Host => {
      const { host } = endpoint;
      if (isIP(host) !== 0) {
        return { endpoint, addresses: undefined, known: [host] };
      }
      const onChange = (known: readonly string[]) => {
        created.known = known;
        this.#update();
      };
      const created: Host = {
        endpoint,
        addresses: new HostAddresses({ host, lookup, clock, onChange }),
        known: [],
      };
      return created;
    });
    this.#names = this.#hosts.flatMap(({ addresses }) => addresses ?? []);
    if (hosts.length > this.#names.length) this.#update();
  }

  prepare(): Promise<void> | undefined {
    if (this.#names.length === 0) return undefined;
    const waits = this.#names.flatMap((name) => name.use() ?? []);
    return waits.length === 0 ? undefined : this.#await(waits);
  }

  connectFailed(): void {
    for (const name of this.#names) name.expire();
  }

  choose(
    tried: readonly AttemptTarget[],
    key: number | undefined,
  ): AttemptTarget {
    return this.pool.choose(tried, key);
  }

  hasAnother(tried: readonly AttemptTarget[]): boolean {
    return this.pool.hasAnother(tried);
  }

  /** Fails only when no name has an address. */
  async #await(waits: readonly Promise<void>[]): Promise<void> {
    const results = await Promise.allSettled(waits);
    if (this.pool.size > 0) return;
    const failed = results.find(({ status }) => status === "rejected");
    const [first] = this.#hosts;
    throw new GatewayError(
      "upstream_connect_failed",
      "upstream",
      `Cannot connect to "${first?.endpoint.host}:${first?.endpoint.port}"`,
      { cause: failed?.status === "rejected" ? failed.reason : undefined },
    );
  }

  /** Addresses of the preferred family come first: the others may be unreachable from here, and serve as a reserve. */
  #update(): void {
    const [first = ""] = this.#hosts.flatMap(({ known }) => known);
    const isPreferred = (host: string) => isIPv4(host) === isIPv4(first);
    const all = this.#hosts.flatMap(({ endpoint, known }) =>
      known.map((host) => ({ ...endpoint, host }))
    );
    const preferred = all.filter(({ host }) => isPreferred(host));
    const others = all.filter(({ host }) => !isPreferred(host));
    this.pool.update([...preferred, ...others], preferred.length);
  }
}
