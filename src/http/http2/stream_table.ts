import { ClosedStreams, type StreamEnd } from "./closed_streams.ts";
import { protocolError } from "./frames/frame_fields.ts";
import { Http2ConnectionError } from "./http2_error.ts";
import { ERROR_CODES, LAST_STREAM_ID } from "./http2_protocol.ts";
import type { Http2Stream } from "./http2_stream.ts";

/** The streams of a connection: those that are open, how the last ones ended, and which numbers are used. */
export class StreamTable {
  readonly #open = new Map<number, Http2Stream>();
  readonly #closed = new ClosedStreams();
  readonly #isServer: boolean;
  #lastPeer = 0;
  #lastOwn = -1;

  constructor(isServer: boolean) {
    this.#isServer = isServer;
  }

  /** Open streams. */
  get size(): number {
    return this.#open.size;
  }

  /** The highest number that the peer used. */
  get lastPeer(): number {
    return this.#lastPeer;
  }

  /** Whether a client has a number for another stream: none is used twice (RFC 9113 section 5.1.1). */
  get hasOwnLeft(): boolean {
    return this.#lastOwn < LAST_STREAM_ID - 2;
  }

  get(streamId: number): Http2Stream | undefined {
    return this.#open.get(streamId);
  }

  values(): Iterable<Http2Stream> {
    return this.#open.values();
  }

  /** The number of the next stream that a client opens. */
  nextOwn(): number {
    return this.#lastOwn += 2;
  }

  add(stream: Http2Stream): void {
    this.#open.set(stream.id, stream);
  }

  remove(streamId: number, end: StreamEnd): void {
    this.#open.delete(streamId);
    this.#closed.add(streamId, end);
  }

  /** Whether frames for that stream, which is not open, are to be ignored: the peer sent them before it knew of our reset. */
  isIgnored(streamId: number): boolean {
    return this.#closed.get(streamId) === "reset by us";
  }

  /**
   * Takes note of a stream that the peer opens; `false` when its frames are to be ignored.
   * @throws {Http2ConnectionError} When it cannot open that one (RFC 9113 section 5.1.1).
   */
  openPeer(streamId: number): boolean {
    if (!this.#isServer || streamId % 2 === 0) {
      this.expectUsed(streamId, "HEADERS");
      return false;
    }
    if (streamId > this.#lastPeer) {
      this.#lastPeer = streamId;
      return true;
    }
    const end = this.#closed.get(streamId);
    if (end === "reset by us") return false;
    const code = end === undefined
      ? ERROR_CODES.protocolError
      : ERROR_CODES.streamClosed;
    throw new Http2ConnectionError(code, "HEADERS for a stream that is closed");
  }

  /** Checks that a stream was opened before (RFC 9113 section 5.1, "idle"). @throws {Http2ConnectionError} */
  expectUsed(streamId: number, frame: string): void {
    const isPeers = (streamId % 2 === 1) === this.#isServer;
    if (streamId <= (isPeers ? this.#lastPeer : this.#lastOwn)) return;
    throw protocolError(`${frame} for a stream that was not opened`);
  }

  /** Closes all streams, which fail with `failure`. */
  closeAll(failure: Error): void {
    const streams = [...this.#open.values()];
    this.#open.clear();
    for (const stream of streams) stream.close(failure);
  }
}
