import type { Body } from "../../../src/http/body.ts";

/** A body of unknown length that yields all chunks in the same buffer, as connections do. */
export class ChunkedBody implements Body {
  readonly length = undefined;
  readonly trailers = undefined;
  /** The reasons of all cancellations. */
  readonly cancelledWith: unknown[] = [];
  reads = 0;
  readonly #chunks: Uint8Array[];
  readonly #buffer: Uint8Array;

  constructor(...chunks: readonly string[]) {
    this.#chunks = chunks.map((chunk) => new TextEncoder().encode(chunk));
    const longest = Math.max(0, ...this.#chunks.map(({ length }) => length));
    this.#buffer = new Uint8Array(longest);
  }

  read(): Promise<Uint8Array | undefined> {
    this.reads++;
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return Promise.resolve(undefined);
    this.#buffer.set(chunk);
    return Promise.resolve(this.#buffer.subarray(0, chunk.length));
  }

  cancel(reason: unknown): void {
    this.cancelledWith.push(reason);
  }
}
