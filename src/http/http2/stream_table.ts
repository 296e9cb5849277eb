import { ClosedStreams, type StreamEnd } from "./closed_streams.ts";
import { protocolError } from "./frames/frame_fields.ts";
import { Http2ConnectionError } from "./frames/http2_error.ts";
import { ERROR_CODES, LAST_STREAM_ID } from "./frames/http2_protocol.ts";
import type { Http2Stream } from "./http2_stream.ts";

/** The streams of a connection: open ones, ends of recent ones, and used stream IDs. */
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

  /** Highest stream ID of the peer. */
  get lastPeer(): number {
    return this.#lastPeer;
  }

  /** True if a client has stream IDs left, which are never reused (RFC 9113 section 5.1.1). */
  get hasOwnLeft(): boolean {
    return this.#lastOwn < LAST_STREAM_ID - 2;
  }

  get(streamId: number): Http2Stream | undefined {
    return this.#open.get(streamId);
  }

  values(): Iterable<Http2Stream> {
    return this.#open.values();
  }

  /** Returns the ID of the next stream that a client opens. */
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

  /** Returns whether frames for a closed stream are ignored: the peer sent them before it received the reset. */
  isIgnored(streamId: number): boolean {
    return this.#closed.get(streamId) === "reset by us";
  }

  /**
   * Records a stream that the peer opens; returns `false` if its frames are ignored.
   * @throws {Http2ConnectionError} If the peer cannot open that stream (RFC 9113 section 5.1.1).
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
