import type { HeaderList } from "./header_list.ts";

/**
 * A message body that is pulled: nothing is read from the sender before somebody asks, which is all the back-pressure there is.
 *
 * Read by one reader, to the end or until `cancel`.
 */
export interface Body {
  /** Bytes in all, when the message says so; `undefined` for chunked bodies. */
  readonly length: number | undefined;
  /** Trailer fields; known once `read` answered `undefined`. */
  readonly trailers: HeaderList | undefined;
  /**
   * Whether the bytes before a chunk, in its `ArrayBuffer`, are nobody's any more: what is sent ahead of the chunk may be put
   * there, to go out with it in one write. Not unless it says so.
   */
  readonly hasHeadroom?: boolean;
  /**
   * The next bytes, never empty; `undefined` at the end.
   *
   * A chunk is valid until the next call: it is a view into a buffer that is filled again. Answers
   * without a promise when bytes are at hand. Never throws: rejects with a `GatewayError` when the body is malformed, cut short
   * or late.
   */
  read(): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Gives up: the rest is not wanted and the sender may be disconnected. */
  cancel(reason: unknown): void;
}

/** A body that is in memory already. */
export class BytesBody implements Body {
  readonly length: number;
  readonly trailers = undefined;
  #bytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.length = bytes.length;
    this.#bytes = bytes.length > 0 ? bytes : undefined;
  }

  read(): Uint8Array | undefined {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes;
  }

  cancel(): void {
    this.#bytes = undefined;
  }
}

/** A body of that text, encoded as UTF-8. */
export function textBody(text: string): BytesBody {
  return new BytesBody(new TextEncoder().encode(text));
}
