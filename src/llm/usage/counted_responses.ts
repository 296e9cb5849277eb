import { createHash } from "node:crypto";

/** Responses that are remembered; those that were counted first are forgotten. */
const SLOTS = 65_536;
/** Slots in which a response may be: one is free unless all are taken by others. */
const WAYS = 8;

/** Creates memory for all threads of a process. */
export function createCountedMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLOTS * BigInt64Array.BYTES_PER_ELEMENT);
}

/** Responses of OpenAI that run in the background and were counted: clients read them any number of times. */
export class CountedResponses {
  readonly #slots: BigInt64Array;

  constructor(memory: SharedArrayBuffer = createCountedMemory()) {
    this.#slots = new BigInt64Array(memory);
  }

  /** Marks a response as counted; returns whether it was not before. */
  claim(id: string): boolean {
    const digest = createHash("sha256").update(id).digest();
    // 0 marks a free slot.
    const key = digest.readBigInt64LE() | 1n;
    const first = digest.readUInt32LE(8) % (SLOTS / WAYS) * WAYS;
    for (let slot = first; slot < first + WAYS; slot++) {
      const found = Atomics.compareExchange(this.#slots, slot, 0n, key);
      if (found === 0n) return true;
      if (found === key) return false;
    }
    Atomics.store(this.#slots, first + (digest[12] ?? 0) % WAYS, key);
    return true;
  }
}
