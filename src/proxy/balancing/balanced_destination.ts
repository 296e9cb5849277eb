import { isIP, isIPv4 } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Endpoint, LookupSettings } from "../../snapshot/backend.ts";
import type { AttemptTarget, Destination } from "./attempt_target.ts";
import type { EndpointPool } from "./endpoint_pool.ts";
import { HostAddresses, type LookupReading } from "./host_addresses.ts";
import { RetryBudget } from "./retry_budget.ts";
import type { Lookup } from "../../base/wire/system_lookup.ts";
import { SessionDestination } from "./session_destination.ts";
import { StickyDestination } from "./sticky_destination.ts";

/** Time between two looks at the age of addresses without requests. */
const FRESH_MS = 5000;

/** Further addresses of a backend are ignored. */
const MAX_ENDPOINTS = 1024;

/** Dependencies of a destination. */
export interface DestinationOptions {
  readonly pool: EndpointPool;
  /** Hosts and ports as configured; empty for services, whose endpoints come from elsewhere. */
  readonly hosts: readonly Endpoint[];
  readonly lookup: Lookup;
  readonly lookupSettings: LookupSettings;
  readonly clock: Clock;
  /** The addresses are looked up again also while there are no requests. */
  readonly keepsFresh?: boolean;
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

  #cancelTimer: (() => void) | undefined;

  constructor(
    { pool, hosts, keepsFresh = false, ...options }: DestinationOptions,
  ) {
    const { clock, lookup, lookupSettings: settings } = options;
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
        addresses: new HostAddresses({
          host,
          lookup,
          settings,
          clock,
          onChange,
        }),
        known: [],
      };
      return created;
    });
    this.#names = this.#hosts.flatMap(({ addresses }) => addresses ?? []);
    if (hosts.length > this.#names.length) this.#update();
    if (keepsFresh && this.#names.length > 0) this.#keepFresh(clock);
  }

  /** Describes the look-ups of its names. */
  lookups(): readonly LookupReading[] {
    return this.#names.map((name) => name.describe());
  }

  /** Closes idle connections now and the others after their requests. */
  retire(): void {
    this.#cancelTimer?.();
    this.pool.retire();
  }

  /** Closes all connections. */
  close(): void {
    this.#cancelTimer?.();
    this.pool.close();
  }

  prepare(): Promise<void> | undefined {
    if (this.#names.length === 0) return undefined;
    const waits = this.#names.flatMap((name) => name.use() ?? []);
    return waits.length === 0 ? undefined : this.#await(waits);
  }

  get size(): number {
    return this.pool.size;
  }

  forSession(endpoint: number): Destination {
    return new SessionDestination(this, endpoint);
  }

  async hasEndpoint(endpoint: number): Promise<boolean> {
    await this.prepare();
    return this.pool.find(endpoint) !== undefined;
  }

  preferring(endpoint: number): Destination {
    return new StickyDestination(this, endpoint);
  }

  async hasUsable(hash: number): Promise<boolean> {
    await this.prepare();
    const endpoint = this.pool.find(hash);
    return endpoint !== undefined && this.pool.isUsable(endpoint);
  }

  connectFailed(): void {
    for (const name of this.#names) name.expire();
  }

  choose(
    tried: readonly AttemptTarget[],
    key: number | undefined,
    mayRepeat: boolean,
  ): AttemptTarget {
    return this.pool.choose(tried, key, mayRepeat);
  }

  hasAnother(tried: readonly AttemptTarget[]): boolean {
    return this.pool.hasAnother(tried);
  }

  #keepFresh(clock: Clock): void {
    // Requests report the error, if there is one.
    this.prepare()?.catch(() => {});
    this.#cancelTimer = clock.setTimer(() => this.#keepFresh(clock), FRESH_MS);
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
    ).slice(0, MAX_ENDPOINTS);
    const preferred = all.filter(({ host }) => isPreferred(host));
    const others = all.filter(({ host }) => !isPreferred(host));
    this.pool.update([...preferred, ...others], preferred.length);
  }
}
