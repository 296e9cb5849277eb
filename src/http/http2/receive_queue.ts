/** Smallest room that is made for what comes behind bytes that nobody has read yet. */
const SEGMENT_BYTES = 4 * 1024;

/**
 * Bytes that arrived and were not read yet.
 *
 * They are copied together, so that many small frames hold little more memory than their bytes.
 */
export class ReceiveQueue {
  #segments: Segment[] = [];
  #size = 0;

  /** Bytes that wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds a copy of `bytes`. */
  push(bytes: Uint8Array): void {
    const { length } = bytes;
    if (length === 0) return;
    this.#size += length;
    const last = this.#segments.at(-1);
    if (last === undefined) {
      // No `slice`: that of a `Buffer` does not copy.
      this.#segments.push({ bytes: new Uint8Array(bytes), used: length });
      return;
    }
    const fits = Math.min(length, last.bytes.length - last.used);
    if (fits > 0) {
      last.bytes.set(bytes.subarray(0, fits), last.used);
      last.used += fits;
    }
    if (fits === length) return;
    const rest = length - fits;
    const segment = new Uint8Array(Math.max(rest, SEGMENT_BYTES));
    segment.set(bytes.subarray(fits));
    this.#segments.push({ bytes: segment, used: rest });
  }

  /** Takes the oldest bytes, which are the caller's then; `undefined` when there are none. */
  shift(): Uint8Array | undefined {
    const segment = this.#segments.shift();
    if (segment === undefined) return undefined;
    this.#size -= segment.used;
    return segment.bytes.subarray(0, segment.used);
  }

  /** Forgets all; answers how many bytes that were. */
  clear(): number {
    const size = this.#size;
    this.#segments = [];
    this.#size = 0;
    return size;
  }
}

interface Segment {
  readonly bytes: Uint8Array;
  used: number;
}
