/** How a stream came to its end. */
export type StreamEnd = "ended" | "reset by peer" | "reset by us";

const REMEMBERED = 256;

/**
 * Remembers how the streams ended that were closed last.
 *
 * Frames for a stream that we reset may still be on their way and are ignored; behind a stream that ended they are an error.
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

  /** `undefined` for a stream that is forgotten, or was skipped. */
  get(streamId: number): StreamEnd | undefined {
    const index = this.#ids.lastIndexOf(streamId);
    return index < 0 ? undefined : this.#ends[index];
  }
}
