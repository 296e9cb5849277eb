/** Smallest segment for bytes that arrive before earlier ones were read. */
const SEGMENT_BYTES = 4 * 1024;

/**
 * Received bytes that were not read yet.
 *
 * They are copied into segments, so that many small frames need little more memory than their bytes.
 */
export class ReceiveQueue {
  #segments: Segment[] = [];
  /** Unread bytes. */
  #size = 0;

  /** Adds a copy of `bytes`. */
  push(bytes: Uint8Array): void {
    const { length } = bytes;
    if (length === 0) return;
    this.#size += length;
    const last = this.#segments.at(-1);
    if (last === undefined) {
      // Not `slice`, which does not copy a `Buffer`.
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

  /** Removes and returns the oldest bytes; `undefined` when there are none. */
  shift(): Uint8Array | undefined {
    const segment = this.#segments.shift();
    if (segment === undefined) return undefined;
    this.#size -= segment.used;
    return segment.bytes.subarray(0, segment.used);
  }

  /** Drops all bytes and returns their number. */
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
