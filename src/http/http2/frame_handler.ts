import type { ConnectionWindow } from "./connection_window.ts";
import type { FloodGuard } from "./flood_guard.ts";
import type { FrameConsumer } from "./frames/frame_reader.ts";
import type { FrameWriter } from "./frames/frame_writer.ts";
import { type FieldBlock, HeaderDecoder } from "./hpack/header_decoder.ts";
import {
  Http2ConnectionError,
  Http2StreamError,
  StreamResetError,
} from "./frames/http2_error.ts";
import { ERROR_CODES } from "./frames/http2_protocol.ts";
import type { Http2Stream } from "./http2_stream.ts";
import { PeerSettings } from "./peer_settings.ts";
import type { SessionOptions, SessionOwner } from "./session_options.ts";
import type { StreamOutput } from "./stream_output.ts";
import type { StreamTable } from "./stream_table.ts";

/** The connection whose frames are handled. */
export interface HandledSession {
  readonly options: SessionOptions;
  readonly owner: SessionOwner;
  readonly streams: StreamTable;
  readonly window: ConnectionWindow;
  readonly guard: FloodGuard;
  readonly writer: FrameWriter;
  readonly output: StreamOutput;
  /** Opens a stream of the peer. */
  open(streamId: number, block: FieldBlock, endStream: boolean): void;
  /** True if further frames are ignored. */
  readonly isEnding: boolean;
  /** Resets a stream after a protocol error of the peer. @throws {Http2ConnectionError} After too many of them. */
  failStream(error: Http2StreamError): void;
  /** Closes a stream that the peer reset or did not process. */
  lose(stream: Http2Stream, error: StreamResetError): void;
  /** Frees the room of bytes that were read or dropped in the connection's window. */
  release(count: number): void;
}

/** Applies the frames of the peer to streams, windows and settings (RFC 9113 section 6). */
export class FrameHandler implements FrameConsumer {
  readonly peer = new PeerSettings();
  /** True once the peer has acknowledged the settings of this side. */
  isAcknowledged = false;
  readonly #session: HandledSession;
  readonly #decoder = new HeaderDecoder();

  constructor(session: HandledSession) {
    this.#session = session;
  }

  get isEnding(): boolean {
    return this.#session.isEnding;
  }

  failStream(error: Http2StreamError): void {
    this.#session.failStream(error);
  }

  data(
    streamId: number,
    data: Uint8Array,
    flowBytes: number,
    endStream: boolean,
  ): void {
    const { window, guard, streams } = this.#session;
    window.receive(flowBytes);
    if (data.length > 0 || endStream) guard.progress();
    else guard.countIdleFrame();
    const stream = streams.get(streamId);
    if (stream !== undefined) return stream.receive(data, flowBytes, endStream);
    this.#session.release(flowBytes);
    streams.expectUsed(streamId, "DATA");
    if (!streams.isIgnored(streamId)) throw streamClosed(streamId, "DATA");
  }

  headers(
    streamId: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    endStream: boolean,
  ): void {
    const { options: { limits }, streams, guard } = this.#session;
    const block = this.#decoder.decode(bytes, start, end, limits);
    const stream = streams.get(streamId);
    if (stream === undefined) {
      if (!streams.openPeer(streamId)) return guard.countIdleFrame();
      return this.#session.open(streamId, block, endStream);
    }
    if (stream.remoteEnded) throw streamClosed(streamId, "HEADERS");
    guard.progress();
    stream.owner?.fieldsReceived(block, endStream);
    if (!endStream || stream.isClosed) return;
    stream.endRemote();
    stream.owner?.bodyReceived();
  }

  rstStream(streamId: number, code: number): void {
    const { streams, guard } = this.#session;
    const stream = streams.get(streamId);
    if (stream === undefined) {
      streams.expectUsed(streamId, "RST_STREAM");
      return guard.countIdleFrame();
    }
    this.#session.lose(stream, new StreamResetError(code));
    guard.countReset();
  }

  settings(identifier: number, value: number): void {
    const before = this.peer.initialWindow;
    this.peer.apply(identifier, value, this.#session.options.isServer);
    const change = this.peer.initialWindow - before;
    if (change === 0) return;
    for (const stream of this.#session.streams.values()) {
      widenBySetting(stream, change);
    }
  }

  settingsEnd(): void {
    this.#session.guard.countIdleFrame();
    this.#session.writer.settingsAck();
    this.#session.owner.settingsReceived();
  }

  settingsAck(): void {
    this.#session.guard.countIdleFrame();
    this.isAcknowledged = true;
  }

  ping(payload: Uint8Array): void {
    this.#session.guard.countIdleFrame();
    this.#session.writer.ping(payload, true);
  }

  pingAck(): void {
    this.#session.guard.countIdleFrame();
    this.#session.owner.goAwayHeard();
  }

  goAway(lastStreamId: number): void {
    const { guard, options, streams } = this.#session;
    guard.countIdleFrame();
    this.#session.owner.goAwayReceived();
    if (options.isServer) return;
    for (const stream of streams.values()) {
      if (stream.id <= lastStreamId) continue;
      const refused = new StreamResetError(ERROR_CODES.refusedStream);
      this.#session.lose(stream, refused);
    }
  }

  windowUpdate(streamId: number, increment: number): void {
    const { guard, window, streams } = this.#session;
    guard.countIdleFrame();
    if (streamId === 0) {
      window.widen(increment);
      return this.#session.output.resume();
    }
    const stream = streams.get(streamId);
    if (stream === undefined) {
      return streams.expectUsed(streamId, "WINDOW_UPDATE");
    }
    if (increment === 0) {
      throw new Http2StreamError(
        streamId,
        ERROR_CODES.protocolError,
        "WINDOW_UPDATE adds nothing",
      );
    }
    stream.widenSendWindow(increment);
  }

  idleFrame(): void {
    this.#session.guard.countIdleFrame();
  }
}

/** Applies a setting, which concerns all streams: an overflow ends the connection (RFC 9113 section 6.9.2). */
function widenBySetting(stream: Http2Stream, change: number): void {
  try {
    stream.widenSendWindow(change);
  } catch (error) {
    if (!(error instanceof Http2StreamError)) throw error;
    throw new Http2ConnectionError(error.code, "a window is too large");
  }
}

function streamClosed(streamId: number, frame: string): Http2StreamError {
  return new Http2StreamError(
    streamId,
    ERROR_CODES.streamClosed,
    `${frame} for a stream that is closed`,
  );
}
