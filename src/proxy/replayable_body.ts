import type { Body } from "../http/body.ts";
import type { HeaderList } from "../http/header_list.ts";

/**
 * A request body that can be sent again, as long as what was sent fits into memory.
 *
 * A try that fails cancels its body; the client's is given up only by `settle`, when there is no further try.
 */
export class ReplayableBody implements Body {
  readonly length: number | undefined;
  readonly #source: Body;
  readonly #maxBytes: number;
  #saved: Uint8Array[] = [];
  #savedBytes = 0;
  #overflowed = false;
  #position = 0;
  #ended = false;
  #pending: Promise<Uint8Array | undefined> | undefined;
  #cancelled: { readonly reason: unknown } | undefined;

  constructor(source: Body, maxBytes: number) {
    this.length = source.length;
    this.#source = source;
    this.#maxBytes = maxBytes;
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  /** Whether everything sent so far can be sent once more. */
  get replayable(): boolean {
    return !this.#overflowed;
  }

  /** Starts over for the next try. */
  rewind(): void {
    this.#position = 0;
    this.#cancelled = undefined;
  }

  /** There will be no further try: stops saving and passes a cancellation on. */
  settle(): void {
    this.#overflowed = true;
    if (this.#cancelled !== undefined) {
      this.#source.cancel(this.#cancelled.reason);
    }
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const saved = this.#saved[this.#position];
    if (saved !== undefined) {
      this.#position++;
      return saved;
    }
    if (this.#ended) return undefined;
    // A failed try may have left a read under way; the body has one reader at a time.
    if (this.#pending !== undefined) return this.#pending;
    const next = this.#source.read();
    if (!(next instanceof Promise)) return this.#save(next);
    this.#pending = next.then((chunk) => this.#save(chunk)).finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  cancel(reason: unknown): void {
    this.#cancelled ??= { reason };
    if (this.#overflowed) this.#source.cancel(reason);
  }

  #save(chunk: Uint8Array | undefined): Uint8Array | undefined {
    if (chunk === undefined) {
      this.#ended = true;
      return undefined;
    }
    if (this.#overflowed) return chunk;
    if (this.#savedBytes + chunk.length > this.#maxBytes) {
      this.#overflowed = true;
      this.#saved = [];
      this.#position = 0;
      return chunk;
    }
    const copy = chunk.slice();
    this.#saved.push(copy);
    this.#savedBytes += copy.length;
    this.#position++;
    return copy;
  }
}
