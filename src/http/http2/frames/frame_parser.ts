import { BlockAssembler } from "./block_assembler.ts";
import {
  expectConnection,
  expectLength,
  expectOther,
  expectStream,
  frameSize,
  protocolError,
  uint24,
  uint31,
  uint32,
} from "./frame_fields.ts";
import type { FrameSink } from "./frame_sink.ts";
import { Http2StreamError } from "./http2_error.ts";
import {
  ERROR_CODES,
  FRAME_FLAGS,
  FRAME_HEADER_BYTES,
  FRAME_TYPES,
  MAX_FRAME_BYTES,
} from "./http2_protocol.ts";

/**
 * Parses frames (RFC 9113 sections 4 and 6).
 *
 * DATA is passed to the sink as it arrives, other frames when they are complete.
 */
export class FrameParser {
  readonly #sink: FrameSink;
  readonly #maxBlockBytes: number;
  #block: BlockAssembler | undefined;
  #sawSettings = false;
  // The incomplete DATA frame.
  #dataStream = 0;
  #dataLeft = 0;
  #paddingLeft = 0;
  #dataEnds = false;

  /** @param maxBlockBytes Limit of a header block that arrives in parts. */
  constructor(sink: FrameSink, maxBlockBytes: number) {
    this.#sink = sink;
    this.#maxBlockBytes = maxBlockBytes;
  }

  /** True inside a header block. */
  get isInsideBlock(): boolean {
    return this.#block !== undefined;
  }

  /**
   * Parses the next frame of `bytes[start, end)`, or the available part of it. Returns the position after it, or `start` if more
   * bytes are needed.
   * @throws {Http2ConnectionError}
   * @throws {Http2StreamError} Parsing resumes after the frame, at `resumeAt`.
   */
  parse(bytes: Uint8Array, start: number, end: number): number {
    if (this.#dataLeft > 0 || this.#paddingLeft > 0) {
      return this.#parseData(bytes, start, end);
    }
    if (end - start < FRAME_HEADER_BYTES) return start;
    const length = uint24(bytes, start);
    const type = bytes[start + 3] ?? 0;
    const flags = bytes[start + 4] ?? 0;
    const streamId = uint31(bytes, start + 5);
    this.#expectFrame(length, type, flags, streamId);
    const payload = start + FRAME_HEADER_BYTES;
    if (type === FRAME_TYPES.data) {
      return this.#beginData(bytes, payload, end, { length, flags, streamId });
    }
    if (end - payload < length) return start;
    this.resumeAt = payload + length;
    this.#dispatch(type, flags, streamId, bytes, payload, payload + length);
    return this.resumeAt;
  }

  /** End of the last parsed frame. */
  resumeAt = 0;

  #expectFrame(
    length: number,
    type: number,
    flags: number,
    streamId: number,
  ): void {
    if (length > MAX_FRAME_BYTES) {
      throw frameSize("A frame is larger than the limit");
    }
    if (!this.#sawSettings) {
      if (type !== FRAME_TYPES.settings || (flags & FRAME_FLAGS.ack) !== 0) {
        throw protocolError("The first frame is not SETTINGS");
      }
      this.#sawSettings = true;
    }
    if (this.#block === undefined) {
      if (type !== FRAME_TYPES.continuation) return;
      throw protocolError("CONTINUATION continues nothing");
    }
    if (
      type !== FRAME_TYPES.continuation || streamId !== this.#block.streamId
    ) throw protocolError("A frame stands inside a header block");
  }

  #dispatch(
    type: number,
    flags: number,
    streamId: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    switch (type) {
      case FRAME_TYPES.headers:
        return this.#headers(flags, streamId, bytes, start, end);
      case FRAME_TYPES.continuation:
        return this.#continue(flags, bytes, start, end);
      case FRAME_TYPES.priority:
        return this.#priority(streamId, bytes, start, end);
      case FRAME_TYPES.rstStream:
        expectStream(streamId, "RST_STREAM");
        expectLength(end - start, 4, "RST_STREAM");
        return this.#sink.rstStream(streamId, uint32(bytes, start));
      case FRAME_TYPES.settings:
        expectConnection(streamId, "SETTINGS");
        return this.#settings(flags, bytes, start, end);
      case FRAME_TYPES.pushPromise:
        throw protocolError("PUSH_PROMISE is not allowed: push is disabled");
      case FRAME_TYPES.ping:
        expectConnection(streamId, "PING");
        expectLength(end - start, 8, "PING");
        if ((flags & FRAME_FLAGS.ack) !== 0) return this.#sink.pingAck();
        return this.#sink.ping(bytes.subarray(start, end));
      case FRAME_TYPES.goAway:
        expectConnection(streamId, "GOAWAY");
        if (end - start < 8) throw frameSize("GOAWAY is too short");
        return this.#sink.goAway(uint31(bytes, start));
      case FRAME_TYPES.windowUpdate:
        expectLength(end - start, 4, "WINDOW_UPDATE");
        return this.#sink.windowUpdate(streamId, uint31(bytes, start));
      default:
        return this.#sink.idleFrame();
    }
  }

  #beginData(
    bytes: Uint8Array,
    start: number,
    end: number,
    { length, flags, streamId }: {
      readonly length: number;
      readonly flags: number;
      readonly streamId: number;
    },
  ): number {
    expectStream(streamId, "DATA");
    const isPadded = (flags & FRAME_FLAGS.padded) !== 0;
    if (isPadded && start === end) return start - FRAME_HEADER_BYTES;
    const padding = isPadded ? bytes[start] ?? 0 : 0;
    const overhead = isPadded ? padding + 1 : 0;
    if (overhead > length) {
      throw protocolError("The padding is longer than its frame");
    }
    this.#dataStream = streamId;
    this.#dataLeft = length - overhead;
    this.#paddingLeft = padding;
    this.#dataEnds = (flags & FRAME_FLAGS.endStream) !== 0;
    const dataStart = isPadded ? start + 1 : start;
    return this.#parseData(bytes, dataStart, end, isPadded ? 1 : 0);
  }

  /** @param overhead Bytes before the data that count against the windows. */
  #parseData(
    bytes: Uint8Array,
    start: number,
    end: number,
    overhead = 0,
  ): number {
    const count = Math.min(this.#dataLeft, end - start);
    const dataEnd = start + count;
    this.#dataLeft -= count;
    const skipped = this.#dataLeft > 0
      ? 0
      : Math.min(this.#paddingLeft, end - dataEnd);
    this.#paddingLeft -= skipped;
    const isWhole = this.#dataLeft === 0 && this.#paddingLeft === 0;
    this.resumeAt = dataEnd + skipped;
    if (this.resumeAt === start && !isWhole && overhead === 0) return start;
    this.#sink.data(
      this.#dataStream,
      bytes.subarray(start, dataEnd),
      overhead + count + skipped,
      isWhole && this.#dataEnds,
    );
    return this.resumeAt;
  }

  #headers(
    flags: number,
    streamId: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    expectStream(streamId, "HEADERS");
    let from = start;
    let padding = 0;
    if ((flags & FRAME_FLAGS.padded) !== 0) padding = bytes[from++] ?? 0;
    const hasPriority = (flags & FRAME_FLAGS.priority) !== 0;
    const dependency = from;
    if (hasPriority) from += 5;
    const blockEnd = end - padding;
    if (from > blockEnd) {
      throw protocolError("The padding is longer than its frame");
    }
    const endStream = (flags & FRAME_FLAGS.endStream) !== 0;
    if ((flags & FRAME_FLAGS.endHeaders) === 0) {
      const block = new BlockAssembler(
        streamId,
        endStream,
        this.#maxBlockBytes,
      );
      block.add(bytes.subarray(from, blockEnd));
      this.#block = block;
      return;
    }
    this.#sink.headers(streamId, bytes, from, blockEnd, endStream);
    if (hasPriority) expectOther(streamId, uint31(bytes, dependency));
  }

  #continue(
    flags: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    const block = this.#block;
    if (block === undefined) return;
    block.add(bytes.subarray(start, end));
    if ((flags & FRAME_FLAGS.endHeaders) === 0) return;
    this.#block = undefined;
    const whole = block.join();
    const { streamId, endStream } = block;
    this.#sink.headers(streamId, whole, 0, whole.length, endStream);
  }

  #priority(
    streamId: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    expectStream(streamId, "PRIORITY");
    if (end - start !== 5) {
      throw new Http2StreamError(
        streamId,
        ERROR_CODES.frameSizeError,
        "PRIORITY has the wrong length",
      );
    }
    this.#sink.idleFrame();
    expectOther(streamId, uint31(bytes, start));
  }

  #settings(
    flags: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    if ((flags & FRAME_FLAGS.ack) !== 0) {
      expectLength(end - start, 0, "SETTINGS with ACK");
      return this.#sink.settingsAck();
    }
    if ((end - start) % 6 !== 0) {
      throw frameSize("SETTINGS has the wrong length");
    }
    for (let at = start; at < end; at += 6) {
      const identifier = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
      this.#sink.settings(identifier, uint32(bytes, at + 2));
    }
    this.#sink.settingsEnd();
  }
}
