import { Buffer } from "node:buffer";
import type { Transport } from "../transport.ts";
import { ConnectionWindow } from "./connection_window.ts";
import { FloodGuard } from "./flood_guard.ts";
import { FrameHandler, type HandledSession } from "./frame_handler.ts";
import { FrameReader } from "./frames/frame_reader.ts";
import { FrameWriter } from "./frames/frame_writer.ts";
import type { FieldBlock } from "./hpack/header_decoder.ts";
import {
  Http2ConnectionError,
  Http2StreamError,
  type StreamResetError,
} from "./frames/http2_error.ts";
import {
  DEFAULT_WINDOW,
  ERROR_CODES,
  LAST_STREAM_ID,
  PREFACE,
} from "./frames/http2_protocol.ts";
import { Http2Stream, type StreamCarrier } from "./http2_stream.ts";
import {
  type SessionOptions,
  type SessionOwner,
  settingsOf,
} from "./session_options.ts";
import { StreamOutput } from "./stream_output.ts";
import { StreamTable } from "./stream_table.ts";

/** Limit of bytes that are read from a peer after the final GOAWAY. */
const LINGER_BYTES = 256 * 1024;
/** A compressed block may be this multiple of the limit for its fields, so that a large one gets a response and not a broken connection. */
const BLOCK_FACTOR = 4;
const DRAIN_PING = Buffer.from("draining");

/**
 * An HTTP/2 connection (RFC 9113), as server or as client.
 *
 * Its memory is bounded whatever the peer does: received bytes by the windows, bytes to write by the room in the writer, header
 * blocks and replies to frames by limits of their own.
 */
export class Http2Session implements StreamCarrier, HandledSession {
  /** Protocol error of the peer that ended the connection. */
  error: Http2ConnectionError | undefined;
  readonly streams: StreamTable;
  readonly window: ConnectionWindow;
  readonly guard: FloodGuard;
  readonly writer: FrameWriter;
  readonly #transport: Transport;
  readonly owner: SessionOwner;
  readonly options: SessionOptions;
  readonly #handler: FrameHandler;
  readonly #reader: FrameReader;
  readonly output: StreamOutput;
  #acceptsStreams = true;
  #isEnding = false;
  #isDestroyed = false;

  constructor(
    transport: Transport,
    options: SessionOptions,
    owner: SessionOwner,
  ) {
    this.#transport = transport;
    this.options = options;
    this.owner = owner;
    this.streams = new StreamTable(options.isServer);
    this.window = new ConnectionWindow(options.connectionWindow);
    this.guard = new FloodGuard(options.maxResets, options.now);
    this.writer = new FrameWriter(transport, {
      drained: () => this.output.resume(),
      writeFailed: () => this.destroy(connectionLost()),
    });
    this.output = new StreamOutput(this.writer, this.window, this.guard);
    this.#handler = new FrameHandler(this);
    this.#reader = new FrameReader(
      transport,
      this.#handler,
      BLOCK_FACTOR * options.limits.maxBytes,
      options.isServer,
    );
    this.#open();
  }

  /** True once the peer has acknowledged the settings of this side. */
  get isAcknowledged(): boolean {
    return this.#handler.isAcknowledged;
  }

  /** Concurrent streams that the peer allows; `undefined` when it sets no limit. */
  get maxOwnStreams(): number | undefined {
    return this.#handler.peer.maxStreams;
  }

  /** True inside the preface, or inside a header block. */
  get isInsideHead(): boolean {
    return this.#reader.isInsideHead;
  }

  /** True if the connection has ended, or is about to end. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** True if the peer may open streams. */
  get acceptsStreams(): boolean {
    return this.#acceptsStreams;
  }

  /**
   * Handles received frames until the connection has ended. Never throws.
   * @param early Bytes that were already read from the transport.
   */
  async run(early?: Uint8Array): Promise<void> {
    try {
      if (early !== undefined && early.length > 0) {
        this.#reader.add(early);
        this.#handleInput();
      }
      while (!this.#isEnding) {
        if (!await this.#reader.fill(this.streams.size === 0)) break;
        this.#handleInput();
      }
      // A reset of the connection would lose the last bytes that were sent.
      if (this.#isEnding) await this.#reader.skip(LINGER_BYTES);
    } catch {
      // The connection broke: all streams fail below.
    } finally {
      this.destroy(connectionLost());
    }
  }

  /** Opens a stream as the client. */
  openStream(): Http2Stream {
    return this.#addStream(this.streams.nextOwn());
  }

  /** Asks the peer to send no further requests, but still accepts those in flight (RFC 9113 section 6.8). */
  announceGoAway(): void {
    if (this.#isEnding) return;
    this.writer.goAway(LAST_STREAM_ID, ERROR_CODES.noError, "");
    this.writer.ping(DRAIN_PING, false);
  }

  /** Accepts no further requests. */
  stopAccepting(): void {
    if (this.#isEnding || !this.#acceptsStreams) return;
    this.#acceptsStreams = false;
    this.writer.goAway(this.streams.lastPeer, ERROR_CODES.noError, "");
  }

  /** Ends the connection after the last write; open streams fail with `failure`. */
  end(failure: Error, code: number = ERROR_CODES.noError, reason = ""): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.streams.closeAll(failure);
    this.writer.goAway(this.streams.lastPeer, code, reason);
    this.owner.ending();
    void this.#hangUp(failure);
  }

  /** Ends the connection at once. */
  destroy(failure: Error): void {
    this.#isEnding = true;
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.streams.closeAll(failure);
    this.writer.stop();
    this.#transport.close();
  }

  /**
   * Resets a stream after a protocol error of the peer; counts as a reset by the peer, which caused it.
   * @throws {Http2ConnectionError} After too many of them.
   */
  failStream(error: Http2StreamError): void {
    this.guard.countReset();
    const stream = this.streams.get(error.streamId);
    if (stream !== undefined) stream.reset(error.code, error);
    else this.writer.rstStream(error.streamId, error.code);
  }

  // For streams.

  release(count: number): void {
    const increment = this.window.release(count);
    if (increment === 0 || this.#isEnding) return;
    this.writer.windowUpdate(0, increment);
  }

  reset(stream: Http2Stream, code: number, error: Error): void {
    this.#remove(stream, "reset by us");
    if (!this.#isEnding) this.writer.rstStream(stream.id, code);
    stream.close(error);
  }

  ended(stream: Http2Stream): void {
    this.#remove(stream, "ended");
    stream.close(undefined);
  }

  // For the peer's frames.

  open(streamId: number, block: FieldBlock, endStream: boolean): void {
    if (!this.#acceptsStreams) {
      return this.streams.remove(streamId, "reset by us");
    }
    if (this.streams.size >= this.options.maxStreams) {
      this.guard.countIdleFrame();
      this.streams.remove(streamId, "reset by us");
      return this.writer.rstStream(streamId, ERROR_CODES.refusedStream);
    }
    this.guard.progress();
    const stream = this.#addStream(streamId);
    if (endStream) stream.endRemote();
    this.owner.streamOpened(stream, block);
  }

  lose(stream: Http2Stream, error: StreamResetError): void {
    this.#remove(stream, "reset by peer");
    stream.close(error);
  }

  #open(): void {
    const { connectionWindow } = this.options;
    if (!this.options.isServer) this.writer.preface(PREFACE);
    this.writer.settings(settingsOf(this.options));
    const more = connectionWindow - DEFAULT_WINDOW;
    if (more > 0) this.writer.windowUpdate(0, more);
  }

  #handleInput(): void {
    try {
      this.#reader.parse();
      this.guard.expectReader(this.writer.replyBytes);
      this.owner.batchHandled();
    } catch (error) {
      if (error instanceof Http2ConnectionError) {
        this.error = error;
        return this.end(error, error.code, error.message);
      }
      this.owner.failed(error);
      this.end(connectionLost(), ERROR_CODES.internalError);
    }
  }

  #addStream(id: number): Http2Stream {
    const stream = new Http2Stream(id, this, this.output, {
      send: this.#handler.peer.initialWindow,
      receive: this.options.streamWindow,
    });
    this.streams.add(stream);
    return stream;
  }

  #remove(
    stream: Http2Stream,
    end: "ended" | "reset by peer" | "reset by us",
  ): void {
    this.streams.remove(stream.id, end);
    this.output.forget(stream);
  }

  /** Closes the connection of a client. A server waits in `run` until the client has read everything. */
  async #hangUp(failure: Error): Promise<void> {
    await this.writer.flushed();
    if (!this.options.isServer || this.#isDestroyed) {
      return this.destroy(failure);
    }
    try {
      await this.#transport.closeWrite();
    } catch {
      // The client has disconnected, which ends the wait.
      this.destroy(failure);
    }
  }
}

function connectionLost(): Error {
  return new Error("The connection was lost");
}
