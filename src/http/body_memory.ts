import { GatewayError } from "../base/errors.ts";

const KIBIBYTE = 1024;
/** Size that a request may hold while memory is short: most MCP messages are smaller. */
const SMALL_KIB = 64;
/** Part of the memory that requests with large bodies share; the rest is for small ones. */
const LARGE_SHARE = 0.75;

/** Memory in which workers count what they hold. */
export interface BodyMemoryState {
  /** KiB that each worker holds. */
  readonly buffer: SharedArrayBuffer;
  readonly maxBytes: number;
}

/** Creates the state for a number of workers. */
export function createBodyMemory(
  workers: number,
  maxBytes: number,
): BodyMemoryState {
  const buffer = new SharedArrayBuffer(workers * Int32Array.BYTES_PER_ELEMENT);
  return { buffer, maxBytes };
}

/** Bounds the memory for bodies that are read before they are forwarded: of all requests, in all workers. */
export class BodyMemory {
  readonly #held: Int32Array;
  readonly #maxKib: number;
  readonly #at: number;

  /** @param worker From 1. */
  constructor({ buffer, maxBytes }: BodyMemoryState, worker = 1) {
    this.#held = new Int32Array(buffer);
    this.#maxKib = maxBytes / KIBIBYTE;
    this.#at = worker - 1;
  }

  /** Bytes that this worker holds, and the limit for all. */
  get fill(): { readonly used: number; readonly capacity: number } {
    const used = Atomics.load(this.#held, this.#at) * KIBIBYTE;
    return { used, capacity: this.#maxKib * KIBIBYTE };
  }

  /** Forgets what a worker held that has ended. */
  clear(): void {
    Atomics.store(this.#held, this.#at, 0);
  }

  /** Takes memory for a request that holds `total` KiB then. @throws {GatewayError} `body_memory_full`. */
  take(kib: number, total: number): void {
    if (!this.hasRoom(kib, total)) {
      throw new GatewayError(
        "body_memory_full",
        "gateway",
        `Cannot hold the body: all requests together hold ${this.#total()} of ${this.#maxKib} KiB`,
      );
    }
    Atomics.add(this.#held, this.#at, kib);
  }

  /** Returns whether `take` would succeed now. */
  hasRoom(kib: number, total: number): boolean {
    return this.#total() + kib <= this.#maxOf(total);
  }

  release(kib: number): void {
    Atomics.sub(this.#held, this.#at, kib);
  }

  #maxOf(total: number): number {
    return total > SMALL_KIB ? this.#maxKib * LARGE_SHARE : this.#maxKib;
  }

  #total(): number {
    let total = 0;
    for (let at = 0; at < this.#held.length; at++) {
      total += Atomics.load(this.#held, at);
    }
    return total;
  }
}

/** Memory that one request holds. */
export class HeldBytes {
  readonly #memory: BodyMemory;
  #bytes = 0;
  #kib = 0;

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  /** Holds so many bytes more. @throws {GatewayError} `body_memory_full`. */
  take(bytes: number): void {
    const held = this.#bytes + bytes;
    const kib = Math.ceil(held / KIBIBYTE);
    if (kib > this.#kib) this.#memory.take(kib - this.#kib, kib);
    this.#bytes = held;
    this.#kib = kib;
  }

  /** Returns whether there is memory for so many bytes more; another worker may take it at the same time. */
  hasRoom(bytes: number): boolean {
    const kib = Math.ceil((this.#bytes + bytes) / KIBIBYTE);
    return kib <= this.#kib || this.#memory.hasRoom(kib - this.#kib, kib);
  }

  /** Holds so many bytes less; by default, none any more. */
  release(bytes = this.#bytes): void {
    const held = Math.max(0, this.#bytes - bytes);
    const kib = Math.ceil(held / KIBIBYTE);
    if (kib < this.#kib) this.#memory.release(this.#kib - kib);
    this.#bytes = held;
    this.#kib = kib;
  }
}
