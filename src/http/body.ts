import { utf8 } from "../base/bytes.ts";
import type { HeaderList } from "./header_list.ts";

/**
 * A message body that is pulled: the gateway reads from the sender only on demand, which provides back-pressure.
 *
 * It has one reader, which reads to the end or calls `cancel`.
 */
export interface Body {
  /** Total length in bytes, if the message declares it; `undefined` for chunked bodies. */
  readonly length: number | undefined;
  /** Trailer fields; available once `read` has returned `undefined`. */
  readonly trailers: HeaderList | undefined;
  /** False while the sender has not sent all of a body whose length it declared; `undefined` where nobody knows. */
  readonly hasArrived?: boolean | undefined;
  /**
   * The bytes before a chunk in its `ArrayBuffer` are free: a writer may put a prefix there, to send it with the chunk in one
   * write. Default: false.
   */
  readonly hasHeadroom?: boolean;
  /**
   * Returns the next bytes, never empty; `undefined` at the end.
   *
   * A chunk is a view into a reused buffer, valid until the next call. Returns without a promise when bytes are buffered. Never
   * throws: rejects with a `GatewayError` when the body is malformed, truncated or late.
   */
  read(): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Discards the rest; the sender may be disconnected. */
  cancel(reason: unknown): void;
}

const nothing: Uint8Array = new Uint8Array();

/** A body in memory. */
export class BytesBody implements Body {
  readonly length: number;
  readonly trailers = undefined;
  #bytes: Uint8Array | undefined;
  #rest: Uint8Array[];

  /** @param rest Bytes that follow: joining long ones would take milliseconds. */
  constructor(bytes = nothing, ...rest: Uint8Array[]) {
    let { length } = bytes;
    for (const part of rest) length += part.length;
    this.length = length;
    this.#bytes = bytes;
    this.#rest = rest;
  }

  read(): Uint8Array | undefined {
    for (;;) {
      const bytes = this.#bytes;
      this.#bytes = this.#rest.length > 0 ? this.#rest.shift() : undefined;
      if (bytes === undefined || bytes.length > 0) return bytes;
    }
  }

  cancel(): void {
    this.#bytes = undefined;
    this.#rest = [];
  }
}

/** A body in memory in several parts, which it does not change. */
export class PartsBody implements Body {
  readonly length: number;
  readonly trailers = undefined;
  #parts: readonly Uint8Array[];
  #next = 0;

  /** @param parts None of them is empty. */
  constructor(parts: readonly Uint8Array[]) {
    this.#parts = parts;
    this.length = parts.reduce((sum, { length }) => sum + length, 0);
  }

  read(): Uint8Array | undefined {
    return this.#parts[this.#next++];
  }

  cancel(): void {
    this.#parts = [];
  }
}

/** Creates a body from a string, encoded as UTF-8. */
export function textBody(text: string): BytesBody {
  return new BytesBody(utf8(text));
}
