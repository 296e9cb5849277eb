import { Buffer } from "node:buffer";

const nothing = new Uint8Array();
const POOL_BYTES = 16 * 1024;
const MAX_POOLED = 2048;
let pool = new ArrayBuffer(POOL_BYTES);
let poolUsed = 0;

/**
 * Returns memory with any content; short ones are parts of a pool, at half the cost of those of `Buffer`. Must not be transferred.
 *
 * A part that is kept for long keeps its whole pool.
 */
export function allocateBytes(length: number): Uint8Array {
  if (length > MAX_POOLED) return Buffer.allocUnsafeSlow(length);
  if (poolUsed + length > POOL_BYTES) {
    pool = new ArrayBuffer(POOL_BYTES);
    poolUsed = 0;
  }
  const bytes = new Uint8Array(pool, poolUsed, length);
  poolUsed += length;
  return bytes;
}

/** The announced bytes get memory once one in so many has come. */
const MIN_SENT_SHARE = 8;

/**
 * A contiguous byte queue: append at the end, discard from the front.
 *
 * Bytes that arrive one by one cost no extra memory; a list of chunks would take hundreds of bytes for each.
 */
export class GrowingBuffer {
  #bytes: Uint8Array;
  readonly #expected: number;
  #length = 0;

  /**
   * @param initial Memory for the first bytes, or its size.
   * @param expected Number of bytes that somebody has announced.
   */
  constructor(initial: Uint8Array | number = nothing, expected = 0) {
    this.#bytes = typeof initial === "number"
      ? new Uint8Array(initial)
      : initial;
    this.#expected = expected;
  }

  get length(): number {
    return this.#length;
  }

  /** The content; valid until the next change. */
  get view(): Uint8Array {
    return this.#bytes.length === this.#length
      ? this.#bytes
      : this.#bytes.subarray(0, this.#length);
  }

  append(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(this.#capacityFor(length));
      grown.set(this.view);
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  #capacityFor(length: number): number {
    // Copying half of a long body would take milliseconds; a sender that announces much has to send some of it first.
    const isNear = length <= this.#expected &&
      length * MIN_SENT_SHARE >= this.#expected;
    // Doubling keeps the copying linear when bytes come one by one.
    return isNear ? this.#expected : Math.max(length, this.#bytes.length * 2);
  }

  /** Empties the buffer and transfers its content to the caller. */
  take(): Uint8Array {
    const bytes = this.view;
    this.#bytes = nothing;
    this.#length = 0;
    return bytes;
  }

  /** Drops the first `count` bytes. */
  discard(count: number): void {
    if (count < this.#length) this.#bytes.copyWithin(0, count, this.#length);
    this.#length -= count;
  }
}

/** Longer texts are not encoded twice if they are not ASCII. */
const MAX_TRIED_LENGTH = 4096;
const encoder = new TextEncoder();

/** Encodes a text as UTF-8; a short one gets memory of a pool. */
export function utf8(text: string): Uint8Array {
  if (text.length > MAX_TRIED_LENGTH) return Buffer.from(text);
  // As long as ASCII, at half the cost of measuring the text first.
  const bytes = allocateBytes(text.length);
  const { read } = encoder.encodeInto(text, bytes);
  return read === text.length ? bytes : Buffer.from(text);
}

/** Decodes bytes as ISO 8859-1. `TextDecoder` would decode 0x80 to 0x9F as Windows-1252. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString("latin1");
}
