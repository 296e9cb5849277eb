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
} from "./http2_error.ts";
import {
  DEFAULT_WINDOW,
  ERROR_CODES,
  LAST_STREAM_ID,
  PREFACE,
} from "./http2_protocol.ts";
import { Http2Stream, type StreamCarrier } from "./http2_stream.ts";
import {
  type SessionOptions,
  type SessionOwner,
  settingsOf,
} from "./session_options.ts";
import { StreamOutput } from "./stream_output.ts";
import { StreamTable } from "./stream_table.ts";

/** Bytes that are still read from a peer that was told to go. */
const LINGER_BYTES = 256 * 1024;
/** A compressed block may be this multiple of the limit for its fields: one that is too large is then answered, not fatal. */
const BLOCK_FACTOR = 4;
const DRAIN_PING = Buffer.from("draining");

/**
 * An HTTP/2 connection (RFC 9113), as server or as client.
 *
 * What it holds is bounded whatever the peer does: bytes to read by the windows, bytes to write by the room in the writer, header
 * blocks and answers to the peer's frames by their own limits.
 */
export class Http2Session implements StreamCarrier, HandledSession {
  /** Why the connection ended, if the peer broke a rule. */
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

  /** Whether the peer acknowledged our settings. */
  get isAcknowledged(): boolean {
    return this.#handler.isAcknowledged;
  }

  /** Streams that the peer lets us open; `undefined` when it sets no limit. */
  get maxOwnStreams(): number | undefined {
    return this.#handler.peer.maxStreams;
  }

  /** Whether the peer began something that it did not end: the preface, or a header block. */
  get isInsideHead(): boolean {
    return this.#reader.isInsideHead;
  }

  /** Whether the connection is over, or about to be. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Whether the peer may open streams. */
  get acceptsStreams(): boolean {
    return this.#acceptsStreams;
  }

  /**
   * Handles what the peer sends until the connection is over. Never throws.
   * @param early Bytes that were read from the transport before.
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
      // What was sent last would be lost if the connection were reset.
      if (this.#isEnding) await this.#reader.skip(LINGER_BYTES);
    } catch {
      // The connection broke: everybody hears that below.
    } finally {
      this.destroy(connectionLost());
    }
  }

  /** Opens a stream as the client. */
  openStream(): Http2Stream {
    return this.#addStream(this.streams.nextOwn());
  }

  /** Tells the peer to send no further requests; those on their way are still taken (RFC 9113 section 6.8). */
  announceGoAway(): void {
    if (this.#isEnding) return;
    this.writer.goAway(LAST_STREAM_ID, ERROR_CODES.noError, "");
    this.writer.ping(DRAIN_PING, false);
  }

  /** Takes no further requests. */
  stopAccepting(): void {
    if (this.#isEnding || !this.#acceptsStreams) return;
    this.#acceptsStreams = false;
    this.writer.goAway(this.streams.lastPeer, ERROR_CODES.noError, "");
  }

  /** Ends the connection once all is written; streams that are open fail with `failure`. */
  end(failure: Error, code: number = ERROR_CODES.noError, reason = ""): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.streams.closeAll(failure);
    this.writer.goAway(this.streams.lastPeer, code, reason);
    this.owner.ending();
    void this.#part(failure);
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
   * Resets a stream on which the peer broke a rule; counts as a reset of the peer, who made us send it.
   * @throws {Http2ConnectionError} When there were too many.
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

  /** A client needs to hear no more. A server waits for the client to have read all, in `run`. */
  async #part(failure: Error): Promise<void> {
    await this.writer.flushed();
    if (!this.options.isServer || this.#isDestroyed) {
      return this.destroy(failure);
    }
    try {
      await this.#transport.closeWrite();
    } catch {
      // The client is gone, which is what we wait for.
      this.destroy(failure);
    }
  }
}

function connectionLost(): Error {
  return new Error("The connection was lost");
}
