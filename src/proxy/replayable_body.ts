import { GrowingBuffer } from "../base/growing_buffer.ts";
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
  /** Everything that was read while there may be a further try. */
  readonly #saved = new GrowingBuffer();
  #overflowed = false;
  /** How much of `#saved` the current try has read. */
  #position = 0;
  #ended = false;
  #tries = 0;
  /** A read of the source, which goes to `#saved`: the try that asked for it may be over by then. */
  #pending: Promise<void> | undefined;
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

  /** Starts over for the next try; a read that the last one has under way fails. */
  rewind(): void {
    this.#tries++;
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
    if (this.#position < this.#saved.length) return this.#takeSaved();
    if (this.#ended) return undefined;
    // A failed try may have left a read under way; the body has one reader at a time.
    if (this.#pending !== undefined) return this.#awaitPending();
    const next = this.#source.read();
    if (this.#overflowed) return next;
    if (next instanceof Promise) {
      this.#pending = next.then((chunk) => this.#save(chunk))
        .finally(() => this.#pending = undefined);
      return this.#awaitPending();
    }
    this.#save(next);
    return this.read();
  }

  cancel(reason: unknown): void {
    this.#cancelled ??= { reason };
    if (this.#overflowed) this.#source.cancel(reason);
  }

  async #awaitPending(): Promise<Uint8Array | undefined> {
    const tries = this.#tries;
    await this.#pending;
    if (tries !== this.#tries) throw new Error("The try is over");
    return this.read();
  }

  #takeSaved(): Uint8Array {
    const unread = this.#saved.view.subarray(this.#position);
    this.#position = this.#saved.length;
    if (this.#overflowed) {
      this.#saved.take();
      this.#position = 0;
    }
    return unread;
  }

  #save(chunk: Uint8Array | undefined): void {
    if (chunk === undefined) {
      this.#ended = true;
      return;
    }
    this.#saved.append(chunk);
    if (this.#saved.length > this.#maxBytes) this.#overflowed = true;
  }
}
