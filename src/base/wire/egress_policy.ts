import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { formatHostPort } from "./host_port.ts";
import type { Log } from "../log/log.ts";
import {
  addressDenial,
  compileEgress,
  type EgressRules,
  type EgressSettings,
  hostDenial,
  isLoopback,
  type ReservedAddress,
} from "./egress_rules.ts";
import { parseIpAddress } from "./ip_address.ts";
import { type Lookup, systemLookup } from "./system_lookup.ts";

/** Destination of a connection. */
export interface EgressTarget {
  /** A name or an address. */
  readonly host: string;
  readonly port: number;
  /** Ports on the loopback interface that it may have in a cluster. */
  readonly loopbackPorts?: readonly number[] | undefined;
}

/** Dependencies of an egress policy. */
export interface EgressPolicyOptions {
  readonly settings: EgressSettings;
  /** Receives a warning for each connection that is denied, the same one once a minute. */
  readonly log?: Log;
  readonly clock?: Pick<Clock, "monotonic">;
  /** Default: that of the operating system. */
  readonly lookup?: Lookup | undefined;
}

const LOG_INTERVAL_MS = 60_000;
/** Denied connections that are remembered, so that each is logged once. */
const MAX_LOGGED = 100;

/** Decides where connections may go that resources ask for: those to backends, identity providers, clients and rate limit services. */
export class EgressPolicy {
  readonly #options: EgressPolicyOptions;
  #reserved: readonly ReservedAddress[] | undefined;
  #rules: EgressRules;
  readonly #logged = new Set<string>();
  #loggedSince = -Infinity;

  constructor(options: EgressPolicyOptions) {
    this.#options = options;
    this.#rules = compileEgress(options.settings, undefined);
  }

  /** Denies what authors of resources in a cluster must not reach, and these addresses; `undefined` where there is no cluster. */
  reserve(addresses: readonly ReservedAddress[] | undefined): void {
    if (addresses === this.#reserved) return;
    this.#reserved = addresses;
    this.#rules = compileEgress(this.#options.settings, addresses);
  }

  /** True if anything is denied. */
  get isLimited(): boolean {
    return this.#rules.addresses.length + this.#rules.names.length > 0;
  }

  /** Returns why a configured host is denied, as far as that is known without a look-up. */
  denialOf(target: EgressTarget): string | undefined {
    if (isOpenLoopback(target, target.host)) return undefined;
    return hostDenial(target.host, this.#rules);
  }

  /** @throws {GatewayError} `egress_denied` when a configured host is denied. */
  assertHost(target: EgressTarget): void {
    const denial = this.denialOf(target);
    if (denial !== undefined) throw this.#deny(target, target.host, denial);
  }

  /**
   * Returns the addresses that a connection to a target may go to, of which there is at least one. To connect to the name again
   * would be another look-up, with another result.
   * @throws {GatewayError} `egress_denied` when all are denied.
   */
  async addressesOf(target: EgressTarget): Promise<readonly string[]> {
    const { host } = target;
    const isAddress = parseIpAddress(host) !== undefined;
    if (!isAddress) this.assertHost(target);
    const { lookup = systemLookup } = this.#options;
    const addresses = isAddress ? [host] : await lookup(host);
    const denials = addresses.map((address) =>
      isOpenLoopback(target, address)
        ? undefined
        : addressDenial(address, this.#rules)
    );
    const allowed = addresses.filter((_, index) =>
      denials[index] === undefined
    );
    if (allowed.length > 0) return allowed;
    const [first = host] = addresses;
    throw this.#deny(target, first, denials[0] ?? "it has no address");
  }

  #deny(
    { host, port }: EgressTarget,
    address: string,
    denial: string,
  ): GatewayError {
    const at = formatHostPort(host, port);
    this.#warn(at, address, denial);
    return new GatewayError(
      "egress_denied",
      "gateway",
      `Denied to connect to "${at}"${
        address === host ? "" : ` at ${address}`
      }: ${denial}`,
    );
  }

  #warn(host: string, address: string, reason: string): void {
    const { log, clock } = this.#options;
    const now = clock?.monotonic() ?? 0;
    if (now - this.#loggedSince >= LOG_INTERVAL_MS) {
      this.#logged.clear();
      this.#loggedSince = now;
    }
    const key = `${host} ${address}`;
    if (this.#logged.has(key) || this.#logged.size >= MAX_LOGGED) return;
    this.#logged.add(key);
    log?.warn("Denied a connection", { host, address, reason });
  }
}

/** Connects to anything: for validation, which never connects, and for destinations of the operator. */
export const openEgress = new EgressPolicy({
  settings: { allow: [], deny: [] },
});

function isOpenLoopback(
  { port, loopbackPorts = [] }: EgressTarget,
  address: string,
): boolean {
  return loopbackPorts.includes(port) && isLoopback(address);
}

/**
 * Calls `connect` with a host, or if anything is denied, with each address of it that is allowed, until one succeeds.
 * @throws {GatewayError} `egress_denied`.
 */
export async function connectWithin<Connection>(
  egress: EgressPolicy | undefined,
  target: EgressTarget,
  signal: AbortSignal,
  connect: (host: string) => Promise<Connection>,
): Promise<Connection> {
  if (egress === undefined || !egress.isLimited) {
    return await connect(target.host);
  }
  const addresses = await unlessAborted(egress.addressesOf(target), signal);
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await connect(address);
    } catch (error) {
      signal.throwIfAborted();
      failure ??= error;
    }
  }
  throw failure;
}

function unlessAborted<Value>(
  pending: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  return Promise.race([pending, promise]).finally(() =>
    signal.removeEventListener("abort", onAbort)
  );
}
