/** Receives parsed frames. Bytes are valid until the call returns. */
export interface FrameSink {
  /**
   * Receives a part of a DATA frame; the last part may end the stream.
   * @param flowBytes Bytes that count against the windows, including padding.
   */
  data(
    streamId: number,
    data: Uint8Array,
    flowBytes: number,
    endStream: boolean,
  ): void;
  /** Receives a complete header block, `bytes[start, end)`. */
  headers(
    streamId: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    endStream: boolean,
  ): void;
  rstStream(streamId: number, code: number): void;
  settings(identifier: number, value: number): void;
  /** Called after the settings of a frame. */
  settingsEnd(): void;
  settingsAck(): void;
  ping(payload: Uint8Array): void;
  pingAck(): void;
  /** Called when the peer accepts no streams above `lastStreamId`. */
  goAway(lastStreamId: number): void;
  windowUpdate(streamId: number, increment: number): void;
  /** Called for a frame without effect, such as PRIORITY or an unknown type. */
  idleFrame(): void;
}
