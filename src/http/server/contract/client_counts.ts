import { clientKey } from "../../../base/wire/ip_address.ts";

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
