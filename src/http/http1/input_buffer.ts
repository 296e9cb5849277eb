import { Buffer } from "node:buffer";
import type { Transport } from "../transport.ts";

const INITIAL_BYTES = 4 * 1024;
/** A chunk of 64 KiB, common for servers, and the head before it. */
const BODY_BYTES = 68 * 1024;
/** Free space before the data: an outgoing head is usually longer than the incoming one. */
const HEADROOM_BYTES = 512;
/** Connections of a thread that keep a large buffer between two requests: 4 MiB. */
const MAX_KEPT = 64;

let kept = 0;

/**
 * Buffers data that was read from a transport and not consumed yet: `bytes[start, end)`.
 *
 * The buffer starts small, because most connections are idle, and grows on demand.
 */
export class InputBuffer {
  bytes: Buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  start = HEADROOM_BYTES;
  end = HEADROOM_BYTES;
  readonly #transport: Transport;
  #filling: Promise<boolean> | undefined;
  #isKept = false;
  #isReleased = false;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get available(): number {
    return this.end - this.start;
  }

  /** A `fill` is in progress. */
  get isFilling(): boolean {
    return this.#filling !== undefined;
  }

  /**
   * Appends more bytes; returns `false` at the end of the stream.
   *
   * Moves or reallocates a full buffer, which invalidates earlier views. Concurrent callers share one read: a client's next
   * request may arrive before the previous response is sent.
   */
  fill(): Promise<boolean> {
    return this.#filling ??= this.#transport.read(this.#makeRoom())
      .then(this.#received, this.#failed);
  }

  /** Takes up to `limit` bytes as a view, valid until the next `fill`. */
  take(limit: number): Uint8Array {
    const end = Math.min(this.end, this.start + limit);
    const { buffer, byteOffset } = this.bytes;
    // Not a `Buffer`, whose `slice` does not copy: readers use it to keep bytes.
    const view = new Uint8Array(
      buffer,
      byteOffset + this.start,
      end - this.start,
    );
    this.start = end;
    return view;
  }

  /** Enlarges the buffer to forward a body of `length` bytes, if known, with few reads. */
  growForBody(length = BODY_BYTES): void {
    const size = Math.min(BODY_BYTES, sizeForBody(length));
    if (this.isFilling || this.bytes.length >= size) return;
    this.#reallocate(size);
  }

  /**
   * Releases the memory for a large body if the buffer is empty. A few connections keep it until `release`: they read their next
   * body at once, together with its head.
   */
  shrink(): void {
    const isInUse = this.isFilling || this.start < this.end;
    if (isInUse || this.bytes.length === INITIAL_BYTES || this.#keep()) return;
    this.bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.start = this.end = HEADROOM_BYTES;
  }

  /** Lets another connection keep a large buffer; call it when the connection ends. */
  release(): void {
    if (this.#isKept) kept--;
    this.#isKept = false;
    this.#isReleased = true;
  }

  #keep(): boolean {
    if (!this.#isKept && !this.#isReleased && kept < MAX_KEPT) {
      this.#isKept = true;
      kept++;
    }
    return this.#isKept;
  }

  // Created once per connection, not per read.
  readonly #received = (count: number | null): boolean => {
    this.#filling = undefined;
    if (count === null) return false;
    this.end += count;
    return true;
  };

  readonly #failed = (error: unknown): never => {
    this.#filling = undefined;
    throw error;
  };

  /** Returns the free space after the data, never empty. */
  #makeRoom(): Uint8Array {
    if (this.start === this.end) {
      this.start = this.end = HEADROOM_BYTES;
    } else if (this.end === this.bytes.length && this.start > 0) {
      this.bytes.copyWithin(0, this.start, this.end);
      this.end -= this.start;
      this.start = 0;
    } else if (this.end === this.bytes.length) {
      this.#reallocate(this.bytes.length * 2);
    }
    const { buffer, byteOffset } = this.bytes;
    return new Uint8Array(buffer, byteOffset + this.end);
  }

  #reallocate(size: number): void {
    const larger = Buffer.allocUnsafeSlow(size);
    larger.set(this.bytes.subarray(this.start, this.end));
    this.end -= this.start;
    this.start = 0;
    this.bytes = larger;
  }
}

/** Adds room for a short head, so that a similar message is read at once; rounds up to limit reallocations. */
function sizeForBody(length: number): number {
  const needed = 2 * HEADROOM_BYTES + length;
  return Math.ceil(needed / INITIAL_BYTES) * INITIAL_BYTES;
}
