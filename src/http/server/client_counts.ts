/** Open connections of a port, by client. */
export interface ClientRegister {
  /** Returns the number of all connections. */
  total(): number;
  /** Returns the number of connections of the client with an address. */
  of(address: string): number;
  /** Counts a connection until the returned function is called, once. */
  add(address: string): () => void;
}

/** Counts the connections of one thread. */
export class ClientCounts implements ClientRegister {
  readonly #counts = new Map<string, number>();
  #total = 0;

  total(): number {
    return this.#total;
  }

  of(address: string): number {
    return this.#counts.get(clientKey(address)) ?? 0;
  }

  add(address: string): () => void {
    const key = clientKey(address);
    this.#total++;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return () => {
      this.#total--;
      const left = (this.#counts.get(key) ?? 0) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }
}

/** Returns what identifies a client: an IPv4 address, or a /64 network of IPv6, which is what one customer gets. */
export function clientKey(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined
    ? 0
    : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  const all = [
    ...groups,
    ...Array.from({ length: missing }, () => "0"),
    ...(tail ? tail.split(":") : []),
  ];
  return all.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, "")).join(
    ":",
  );
}
