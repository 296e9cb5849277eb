import { GrowingBuffer } from "../../base/bytes.ts";
import type { Body } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";

/**
 * A request body that can be sent again, as long as what was sent fits into memory.
 *
 * Each try has a body of its own. One that fails cancels it; the client's is given up only by `settle`, when there is no further try.
 */
export class ReplayableBody {
  readonly #source: Body;
  readonly #maxBytes: number;
  /** Everything that was read while there may be a further try. */
  readonly #saved = new GrowingBuffer();
  #overflowed = false;
  #ended = false;
  #try: TryBody | undefined;
  /** A read of the source, which goes to `#saved`: the try that asked for it may be over by then. */
  #pending: Promise<void> | undefined;
  #cancelled: { readonly reason: unknown } | undefined;

  constructor(source: Body, maxBytes: number) {
    this.#source = source;
    this.#maxBytes = maxBytes;
  }

  /** Whether everything sent so far can be sent once more. */
  get replayable(): boolean {
    return !this.#overflowed;
  }

  /** The body for the next try, from the beginning. */
  nextTry(): Body {
    this.#cancelled = undefined;
    this.#try = new TryBody(
      this.#source,
      (reader) => this.#read(reader),
      (reader, reason) => this.#cancel(reader, reason),
    );
    return this.#try;
  }

  /** Whoever still reads for the last try gets nothing any more: it would be missing from the next. */
  endTry(): void {
    this.#try = undefined;
  }

  /** There will be no further try: stops saving and passes a cancellation on. */
  settle(): void {
    this.#overflowed = true;
    if (this.#cancelled !== undefined) {
      this.#source.cancel(this.#cancelled.reason);
    }
  }

  #read(
    reader: TryBody,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (reader !== this.#try) {
      return Promise.reject(new Error("The try is over"));
    }
    if (reader.position < this.#saved.length) return this.#takeSaved(reader);
    if (this.#ended) return undefined;
    // A failed try may have left a read under way; the body has one reader at a time.
    if (this.#pending !== undefined) return this.#awaitPending(reader);
    const next = this.#source.read();
    if (this.#overflowed) return next;
    if (next instanceof Promise) {
      this.#pending = next.then((chunk) => this.#save(chunk))
        .finally(() => this.#pending = undefined);
      return this.#awaitPending(reader);
    }
    this.#save(next);
    return this.#read(reader);
  }

  async #awaitPending(reader: TryBody): Promise<Uint8Array | undefined> {
    await this.#pending;
    return this.#read(reader);
  }

  #takeSaved(reader: TryBody): Uint8Array {
    const unread = this.#saved.view.subarray(reader.position);
    reader.position = this.#saved.length;
    if (this.#overflowed) {
      this.#saved.take();
      reader.position = 0;
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

  #cancel(reader: TryBody, reason: unknown): void {
    if (reader !== this.#try) return;
    this.#cancelled ??= { reason };
    if (this.#overflowed) this.#source.cancel(reason);
  }
}

/** What one try sends. */
class TryBody implements Body {
  readonly length: number | undefined;
  /** How much of what is saved it has read. */
  position = 0;
  readonly #source: Body;
  readonly #read: (reader: TryBody) => ReturnType<Body["read"]>;
  readonly #cancel: (reader: TryBody, reason: unknown) => void;

  constructor(
    source: Body,
    read: (reader: TryBody) => ReturnType<Body["read"]>,
    cancel: (reader: TryBody, reason: unknown) => void,
  ) {
    this.length = source.length;
    this.#source = source;
    this.#read = read;
    this.#cancel = cancel;
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  read(): ReturnType<Body["read"]> {
    return this.#read(this);
  }

  cancel(reason: unknown): void {
    this.#cancel(this, reason);
  }
}
