import type { BlockLimits, FieldBlock } from "./hpack/header_decoder.ts";
import { SETTINGS } from "./http2_protocol.ts";
import type { Http2Stream } from "./http2_stream.ts";

/** How a session behaves. */
export interface SessionOptions {
  readonly isServer: boolean;
  /** Of each header block. */
  readonly limits: BlockLimits;
  /** Streams that the peer may have open at a time. */
  readonly maxStreams: number;
  /** Window of each stream for what we receive. */
  readonly streamWindow: number;
  /** Window of the connection for what we receive. */
  readonly connectionWindow: number;
  /** Streams that may be reset within ten seconds; asked each time. */
  readonly maxResets: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Hears what concerns the connection. */
export interface SessionOwner {
  /** The peer opened a stream and sent that block; sets the stream's owner. */
  streamOpened(stream: Http2Stream, block: FieldBlock): void;
  /** All frames that had arrived were handled. */
  batchHandled(): void;
  settingsReceived(): void;
  /** The peer takes no further streams. */
  goAwayReceived(): void;
  /** The peer has heard that we go. */
  goAwayHeard(): void;
  /** The connection ends; it is over when the peer has read what was written. */
  ending(): void;
  /** A bug of ours ends the connection. */
  failed(error: unknown): void;
}

/** The settings that such a session announces: identifier and value of each. */
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
