import { createHash } from "node:crypto";

/** Outputs that are remembered; those that were counted first are forgotten. */
const SLOTS = 65_536;
/** Slots in which an output may be: one is free unless all are taken by others. */
const WAYS = 8;

/** Remembers how many parts of stored outputs were charged: clients read them any number of times. */
export interface CountedOutputs {
  /** Returns the number of parts of an output that were charged; 0 if it is not known. */
  count(id: string): Promise<number>;
  /** Marks the first `to` parts as charged, and returns how many were before. */
  claim(id: string, to: number): Promise<number>;
  close(): Promise<void>;
}

/** Creates memory for all threads of a process. */
export function createCountedMemory(): SharedArrayBuffer {
  const bytes = BigInt64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT;
  return new SharedArrayBuffer(SLOTS * bytes);
}

/** Remembers the latest outputs of this process. */
export class MemoryCountedOutputs implements CountedOutputs {
  readonly #keys: BigInt64Array;
  readonly #counts: Int32Array;

  constructor(memory: SharedArrayBuffer = createCountedMemory()) {
    this.#keys = new BigInt64Array(memory, 0, SLOTS);
    this.#counts = new Int32Array(memory, this.#keys.byteLength, SLOTS);
  }

  count(id: string): Promise<number> {
    const { key, first } = placeOf(id);
    let count = 0;
    for (let slot = first; slot < first + WAYS; slot++) {
      if (Atomics.load(this.#keys, slot) !== key) continue;
      count = Atomics.load(this.#counts, slot);
    }
    return Promise.resolve(count);
  }

  claim(id: string, to: number): Promise<number> {
    const slot = this.#slotOf(id);
    let count = Atomics.load(this.#counts, slot);
    while (count < to) {
      const found = Atomics.compareExchange(this.#counts, slot, count, to);
      if (found === count) break;
      count = found;
    }
    return Promise.resolve(count);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the slot of an output, which takes that of another one if it is new. */
  #slotOf(id: string): number {
    const { key, first, evicted } = placeOf(id);
    for (let slot = first; slot < first + WAYS; slot++) {
      const found = Atomics.compareExchange(this.#keys, slot, 0n, key);
      if (found === 0n || found === key) return slot;
    }
    Atomics.store(this.#counts, evicted, 0);
    Atomics.store(this.#keys, evicted, key);
    return evicted;
  }
}

/** Returns the key of an output, the first of its slots, and the one that it takes if there is no free one. */
function placeOf(id: string) {
  const digest = createHash("sha256").update(id).digest();
  const first = digest.readUInt32LE(8) % (SLOTS / WAYS) * WAYS;
  return {
    // 0 marks a free slot.
    key: digest.readBigInt64LE() | 1n,
    first,
    evicted: first + (digest[12] ?? 0) % WAYS,
  };
}
