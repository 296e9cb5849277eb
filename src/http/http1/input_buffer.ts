import { Buffer } from "node:buffer";
import type { Transport } from "../transport.ts";

const INITIAL_BYTES = 4 * 1024;
/** A body of 64 KiB, as many servers cut theirs, and the head in front of it. */
const BODY_BYTES = 68 * 1024;
/** Left free in front of what is read: a head that goes out is mostly longer than the one that came in. */
const HEADROOM_BYTES = 512;

/**
 * What was read from a transport and not consumed yet: `bytes[start, end)`.
 *
 * The buffer starts small, because most connections idle, and grows with what the connection carries.
 */
export class InputBuffer {
  bytes: Buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  start = HEADROOM_BYTES;
  end = HEADROOM_BYTES;
  readonly #transport: Transport;
  #filling: Promise<boolean> | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get available(): number {
    return this.end - this.start;
  }

  /** Whether a `fill` waits for bytes. */
  get isFilling(): boolean {
    return this.#filling !== undefined;
  }

  /**
   * Reads more bytes behind those at hand; `false` at the end of the stream.
   *
   * Moves or reallocates the buffer when it is full: views taken before are void. While a read is under way everybody waits
   * for that one: a client's next request may arrive before the answer to the last is out.
   */
  fill(): Promise<boolean> {
    return this.#filling ??= this.#fill();
  }

  /** Takes up to `limit` bytes as a view, valid until the next `fill`. */
  take(limit: number): Uint8Array {
    const end = Math.min(this.end, this.start + limit);
    const { buffer, byteOffset } = this.bytes;
    // No `Buffer`: the `slice` of one does not copy, and readers keep bytes with it.
    const view = new Uint8Array(
      buffer,
      byteOffset + this.start,
      end - this.start,
    );
    this.start = end;
    return view;
  }

  /** Makes the buffer large enough for relaying a body of `length` bytes, if that is known, with few reads. */
  growForBody(length = BODY_BYTES): void {
    const size = Math.min(BODY_BYTES, sizeForBody(length));
    if (this.isFilling || this.bytes.length >= size) return;
    this.#reallocate(size);
  }

  /** Gives back what a large body needed, provided that nothing is at hand. */
  shrink(): void {
    const isInUse = this.isFilling || this.start < this.end;
    if (isInUse || this.bytes.length === INITIAL_BYTES) return;
    this.bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.start = this.end = HEADROOM_BYTES;
  }

  async #fill(): Promise<boolean> {
    this.#makeRoom();
    try {
      const count = await this.#transport.read(this.bytes.subarray(this.end));
      if (count === null) return false;
      this.end += count;
      return true;
    } finally {
      this.#filling = undefined;
    }
  }

  #makeRoom(): void {
    if (this.start === this.end) {
      this.start = this.end = HEADROOM_BYTES;
      return;
    }
    if (this.end < this.bytes.length) return;
    if (this.start > 0) {
      this.bytes.copyWithin(0, this.start, this.end);
      this.end -= this.start;
      this.start = 0;
      return;
    }
    this.#reallocate(this.bytes.length * 2);
  }

  #reallocate(size: number): void {
    const larger = Buffer.allocUnsafeSlow(size);
    larger.set(this.bytes.subarray(this.start, this.end));
    this.end -= this.start;
    this.start = 0;
    this.bytes = larger;
  }
}

/** With room for a short head, so that the next message like this one is read at once; rounded, so that few are larger. */
function sizeForBody(length: number): number {
  const needed = 2 * HEADROOM_BYTES + length;
  return Math.ceil(needed / INITIAL_BYTES) * INITIAL_BYTES;
}
