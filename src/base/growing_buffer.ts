/**
 * Bytes in a row: added at the end, taken from the front.
 *
 * Takes no more memory when they come one by one, as a list of pieces would: hundreds of bytes for each.
 */
export class GrowingBuffer {
  #bytes: Uint8Array;
  #length = 0;

  constructor(initialBytes = 0) {
    this.#bytes = new Uint8Array(initialBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** What is in it; valid until the next change. */
  get view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  append(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#bytes.length) {
      // Doubling keeps the copying linear when bytes come one by one.
      const grown = new Uint8Array(Math.max(length, this.#bytes.length * 2));
      grown.set(this.view);
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  /** What is in it, as the caller's own; it is empty then. */
  take(): Uint8Array {
    const bytes = this.view;
    this.#bytes = new Uint8Array();
    this.#length = 0;
    return bytes;
  }

  /** Drops the first `count` bytes. */
  discard(count: number): void {
    if (count < this.#length) this.#bytes.copyWithin(0, count, this.#length);
    this.#length -= count;
  }
}
