import type { BlockLimits, FieldBlock } from "./hpack/header_decoder.ts";
import { SETTINGS } from "./frames/http2_protocol.ts";
import type { Http2Stream } from "./http2_stream.ts";

/** Limits and callbacks of a session. */
export interface SessionOptions {
  readonly isServer: boolean;
  /** Limits of each header block. */
  readonly limits: BlockLimits;
  /** Concurrent streams that the peer may open. */
  readonly maxStreams: number;
  /** Receive window of each stream, in bytes. */
  readonly streamWindow: number;
  /** Receive window of the connection, in bytes. */
  readonly connectionWindow: number;
  /** Returns the limit of reset streams within ten seconds; called for each reset. */
  readonly maxResets: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Listener of a connection. */
export interface SessionOwner {
  /** Called when the peer opens a stream with a header block; sets the owner of the stream. */
  streamOpened(stream: Http2Stream, block: FieldBlock): void;
  /** Called when all frames received so far were handled. */
  batchHandled(): void;
  settingsReceived(): void;
  /** Called when the peer accepts no further streams. */
  goAwayReceived(): void;
  /** Called when the peer has acknowledged the GOAWAY of this side. */
  goAwayHeard(): void;
  /** Called when the connection ends; it closes after the peer has read the last bytes. */
  ending(): void;
  /** Called when a bug of the gateway ends the connection. */
  failed(error: unknown): void;
}

/** Returns the settings that a session announces: identifier and value of each. */
export function settingsOf(
  { isServer, maxStreams, limits, streamWindow }: SessionOptions,
): readonly (readonly [number, number])[] {
  const common = [
    [SETTINGS.initialWindowSize, streamWindow],
    [SETTINGS.maxHeaderListSize, limits.maxBytes],
  ] as const;
  return isServer
    ? [
      ...common,
      [SETTINGS.maxConcurrentStreams, maxStreams],
      [SETTINGS.enableConnectProtocol, 1],
    ]
    : [...common, [SETTINGS.enablePush, 0]];
}
