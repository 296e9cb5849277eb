/** End of a stream. */
export type StreamEnd = "ended" | "reset by peer" | "reset by us";

const REMEMBERED = 256;

/**
 * Records how the most recent streams were closed.
 *
 * Frames for a stream that this side reset may still be in flight and are ignored; after the end of a stream they are an error.
 */
export class ClosedStreams {
  readonly #ids = new Int32Array(REMEMBERED);
  readonly #ends: StreamEnd[] = [];
  #next = 0;

  add(streamId: number, end: StreamEnd): void {
    this.#ids[this.#next] = streamId;
    this.#ends[this.#next] = end;
    this.#next = (this.#next + 1) % REMEMBERED;
  }

  /** Returns `undefined` for a stream that is no longer recorded, or was skipped. */
  get(streamId: number): StreamEnd | undefined {
    const index = this.#ids.lastIndexOf(streamId);
    return index < 0 ? undefined : this.#ends[index];
  }
}
