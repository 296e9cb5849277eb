import type { Gateway } from "../../api/resources/gateway_resource.ts";

/** Gives gateways addresses of their own. */
export interface AddressPool {
  /** Returns the gateways; those without `spec.addresses`, or with one that has no value, with one of the pool. */
  assign(gateways: readonly Gateway[]): readonly Gateway[];
}

/** Gives no addresses: gateways listen on all addresses of the process. */
export const noPool: AddressPool = { assign: (gateways) => gateways };

/**
 * Parses a pool of IPv4 addresses, such as `10.245.0.0/16`; its first and last address are not used.
 * @throws {TypeError} When it is invalid.
 */
export function parseAddressPool(text: string): AddressPool {
  const [, address = "", bits = ""] =
    /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(text) ?? [];
  const parts = address.split(".").map(Number);
  const length = Number(bits);
  if (
    parts.length !== 4 || parts.some((part) => part > 255) || bits === "" ||
    length < 8 || length > 30
  ) {
    throw new TypeError(
      `expected IPv4 addresses from /8 to /30, such as 10.245.0.0/16, got "${text}"`,
    );
  }
  const size = 2 ** (32 - length);
  const base = parts.reduce((sum, part) => sum * 256 + part, 0);
  return new Ipv4Pool(base - base % size, size);
}

class Ipv4Pool implements AddressPool {
  readonly #base: number;
  readonly #size: number;
  /** Addresses by the gateway's UID. */
  readonly #assigned = new Map<string, number>();
  /** The same result for the same gateway, so that what depends on it can be remembered. */
  readonly #results = new WeakMap<Gateway, Gateway>();

  constructor(base: number, size: number) {
    this.#base = base;
    this.#size = size;
  }

  assign(gateways: readonly Gateway[]): readonly Gateway[] {
    const keys = new Set(gateways.map(keyOf));
    for (const key of this.#assigned.keys()) {
      if (!keys.has(key)) this.#assigned.delete(key);
    }
    const used = new Set(this.#assigned.values());
    return gateways.map((gateway) => {
      const own = gateway.spec.addresses ?? [];
      const given = own.filter(({ value }) => value !== undefined);
      if (own.length > 0 && given.length === own.length) return gateway;
      const offset = this.#assigned.getOrInsertComputed(
        keyOf(gateway),
        () => this.#free(used),
      );
      const value = formatAddress(this.#base + offset);
      const addresses = [...given, { type: "IPAddress" as const, value }];
      return this.#results.getOrInsertComputed(
        gateway,
        () => ({ ...gateway, spec: { ...gateway.spec, addresses } }),
      );
    });
  }

  #free(used: Set<number>): number {
    for (let offset = 1; offset < this.#size - 1; offset++) {
      if (used.has(offset)) continue;
      used.add(offset);
      return offset;
    }
    throw new RangeError("The address pool has no free address");
  }
}

function keyOf({ metadata }: Gateway): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256)
    .join(".");
}
