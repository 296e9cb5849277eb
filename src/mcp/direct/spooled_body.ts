import { GrowingBuffer } from "../../base/bytes.ts";
import type { Body } from "../../http/body.ts";

const nothing = new Uint8Array();

/** A body that is read ahead, until a reader takes it over: that one gets all of it. */
export class SpooledBody implements Body {
  readonly length: number | undefined;
  /** Has what follows the bytes that were read ahead. */
  readonly source: Body;
  /** Chunks before the last one. */
  #kept: GrowingBuffer | undefined;
  /** The chunk that was read last, which is valid until the next one is read. */
  #chunk: Uint8Array | undefined;
  #pending: Promise<Uint8Array | undefined> | undefined;
  #isTaken = false;
  #isOver = false;

  constructor(source: Body) {
    this.length = source.length;
    this.source = source;
  }

  get trailers(): Body["trailers"] {
    return this.source.trailers;
  }

  /** Bytes that were read ahead; valid until more is read. */
  get bytes(): Uint8Array {
    if (this.#kept === undefined) return this.#chunk ?? nothing;
    this.#keepChunk();
    return this.#kept.view;
  }

  /** True if nothing follows what was read. */
  get isWhole(): boolean {
    return this.#isOver || this.bytes.length === this.length;
  }

  /** Reads the next chunk. Rejects as `read` does. */
  readAhead(): void | Promise<void> {
    this.#keepChunk();
    const next = this.source.read();
    if (!(next instanceof Promise)) return this.#take(next);
    this.#pending = next;
    return next.then((chunk) => {
      if (this.#isTaken) return;
      this.#pending = undefined;
      this.#take(chunk);
    });
  }

  read(): ReturnType<Body["read"]> {
    this.#isTaken = true;
    const { bytes } = this;
    if (bytes.length > 0) {
      this.#chunk = undefined;
      this.#kept = undefined;
      return bytes;
    }
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined) return pending;
    return this.#isOver ? undefined : this.source.read();
  }

  cancel(reason: unknown): void {
    this.source.cancel(reason);
  }

  #take(chunk: Uint8Array | undefined): void {
    if (chunk === undefined) this.#isOver = true;
    else this.#chunk = chunk;
  }

  #keepChunk(): void {
    if (this.#chunk === undefined) return;
    this.#kept ??= new GrowingBuffer();
    this.#kept.append(this.#chunk);
    this.#chunk = undefined;
  }
}
