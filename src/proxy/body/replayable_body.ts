import { GrowingBuffer } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { type Body, BytesBody } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { HeaderList } from "../../http/header_list.ts";

/** A request body that can be sent again. */
export type RepeatableBody = Pick<
  ReplayableBody,
  "replayable" | "nextAttempt" | "endAttempt" | "settle"
>;

/** Makes a body repeatable; bytes in memory are sent from where they are. @param held Counts bytes that are saved. */
export function repeatable(
  body: Body,
  maxBytes: number,
  held: HeldBytes | undefined,
): RepeatableBody {
  return body instanceof BytesBody && body.length <= maxBytes
    ? new RepeatedBytes(body)
    : new ReplayableBody(body, maxBytes, held);
}

/** A body of bytes that nobody else reads. */
class RepeatedBytes implements RepeatableBody {
  readonly replayable = true;
  readonly #bytes: Uint8Array | undefined;

  constructor(body: BytesBody) {
    this.#bytes = body.read();
  }

  nextAttempt(): Body {
    return new BytesBody(this.#bytes ?? nothing);
  }

  endAttempt(): void {}

  settle(): void {}
}

const nothing = new Uint8Array();

/**
 * A request body that can be sent again, as long as it fits into memory: its own bound, and the one that all requests share.
 *
 * Each attempt has a body of its own, which it may cancel. The client's body is cancelled only by `settle`, after the last attempt.
 */
export class ReplayableBody {
  readonly #source: Body;
  readonly #maxBytes: number;
  readonly #held: HeldBytes | undefined;
  /** Everything that was read while there may be another attempt. */
  readonly #saved: GrowingBuffer;
  /** Saved bytes that count as held. */
  #counted = 0;
  #overflowed = false;
  #ended = false;
  #attempt: AttemptBody | undefined;
  /** A read of the source, which goes to `#saved`: the attempt that began it may have ended. */
  #pending: Promise<void> | undefined;
  #cancelled: { readonly reason: unknown } | undefined;

  constructor(source: Body, maxBytes: number, held?: HeldBytes) {
    this.#source = source;
    this.#maxBytes = maxBytes;
    this.#held = held;
    this.#saved = new GrowingBuffer(undefined, source.length);
  }

  /** Returns whether everything sent so far can be sent again. */
  get replayable(): boolean {
    return !this.#overflowed;
  }

  /** Returns the body for the next attempt, from the beginning. */
  nextAttempt(): Body {
    this.#cancelled = undefined;
    this.#attempt = new AttemptBody(
      this.#source,
      (reader) => this.#read(reader),
      (reader, reason) => this.#cancel(reader, reason),
    );
    return this.#attempt;
  }

  /** Ends the body of the current attempt: what it read now would be missing from the next. */
  endAttempt(): void {
    this.#attempt = undefined;
  }

  /** Called after the last attempt: stops saving and passes a cancellation on. */
  settle(): void {
    this.#overflowed = true;
    const reader = this.#attempt;
    if (reader !== undefined && reader.position >= this.#saved.length) {
      this.#forget(reader);
    }
    if (this.#cancelled !== undefined) {
      this.#source.cancel(this.#cancelled.reason);
    }
  }

  #read(
    reader: AttemptBody,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (reader !== this.#attempt) {
      return Promise.reject(new Error("The attempt is over"));
    }
    if (reader.position < this.#saved.length) return this.#takeSaved(reader);
    if (this.#ended) return undefined;
    // A failed attempt may have left a read under way; the body has one reader at a time.
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

  async #awaitPending(reader: AttemptBody): Promise<Uint8Array | undefined> {
    await this.#pending;
    return this.#read(reader);
  }

  #takeSaved(reader: AttemptBody): Uint8Array {
    const unread = this.#saved.view.subarray(reader.position);
    reader.position = this.#saved.length;
    if (this.#overflowed) this.#forget(reader);
    return unread;
  }

  #save(chunk: Uint8Array | undefined): void {
    if (chunk === undefined) {
      this.#ended = true;
      return;
    }
    this.#overflowed = !this.#hold(chunk.length);
    this.#saved.append(chunk);
    if (this.#saved.length > this.#maxBytes) this.#overflowed = true;
  }

  /** Drops what was saved: `reader` has all of it, and there is no further attempt. */
  #forget(reader: AttemptBody): void {
    this.#saved.take();
    reader.position = 0;
    this.#held?.release(this.#counted);
    this.#counted = 0;
  }

  /** Counts the memory of saved bytes; false when there is none: the request goes on, without another attempt. */
  #hold(bytes: number): boolean {
    try {
      this.#held?.take(bytes);
      this.#counted += bytes;
      return true;
    } catch (error) {
      if (error instanceof GatewayError) return false;
      throw error;
    }
  }

  #cancel(reader: AttemptBody, reason: unknown): void {
    if (reader !== this.#attempt) return;
    this.#cancelled ??= { reason };
    if (this.#overflowed) this.#source.cancel(reason);
  }
}

/** The body of one attempt. */
class AttemptBody implements Body {
  readonly length: number | undefined;
  /** Saved bytes that it has read. */
  position = 0;
  readonly #source: Body;
  readonly #read: (reader: AttemptBody) => ReturnType<Body["read"]>;
  readonly #cancel: (reader: AttemptBody, reason: unknown) => void;

  constructor(
    source: Body,
    read: (reader: AttemptBody) => ReturnType<Body["read"]>,
    cancel: (reader: AttemptBody, reason: unknown) => void,
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
