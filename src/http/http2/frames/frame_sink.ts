/** Told what frames say. Bytes are valid until the call returns. */
export interface FrameSink {
  /**
   * Part of a DATA frame; the last one says whether the stream ends.
   * @param flowBytes Bytes that count against the windows: more than `data` has when the frame is padded.
   */
  data(
    streamId: number,
    data: Uint8Array,
    flowBytes: number,
    endStream: boolean,
  ): void;
  /** A whole header block, `bytes[start, end)`. */
  headers(
    streamId: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    endStream: boolean,
  ): void;
  rstStream(streamId: number, code: number): void;
  settings(identifier: number, value: number): void;
  /** All settings of a frame were told. */
  settingsEnd(): void;
  settingsAck(): void;
  ping(payload: Uint8Array): void;
  pingAck(): void;
  /** The peer takes no streams above that one. */
  goAway(lastStreamId: number): void;
  windowUpdate(streamId: number, increment: number): void;
  /** A frame that moves nothing on, such as PRIORITY or one of unknown type. */
  idleFrame(): void;
}
