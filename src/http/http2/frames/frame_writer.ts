import { Buffer } from "node:buffer";
import { setImmediate } from "node:timers";
import { type Transport, writeAll } from "../../transport.ts";
import {
  FRAME_FLAGS,
  FRAME_HEADER_BYTES,
  FRAME_TYPES,
  MAX_FRAME_BYTES,
} from "./http2_protocol.ts";

const INITIAL_BYTES = 2 * 1024;
/** Limit of pending bytes, after which streams wait: about the size of one write. */
const HIGH_WATER_BYTES = 64 * 1024;
/** A larger buffer is released when no bytes are pending. */
const KEPT_BYTES = 16 * 1024;

/** Listener of a writer. */
export interface WriterListener {
  /** Called when the transport has accepted the bytes and there is room for more. */
  drained(): void;
  writeFailed(error: unknown): void;
}

/**
 * Writes frames (RFC 9113 section 6), all of one turn of the event loop in one write.
 *
 * Copies all arguments. During a write, further frames go to a second buffer.
 */
export class FrameWriter {
  /** Bytes of replies to frames, such as acknowledgements, since the transport last accepted bytes. */
  replyBytes = 0;
  readonly #transport: Transport;
  readonly #listener: WriterListener;
  #out: Buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #used = 0;
  #spare: Buffer | undefined;
  #isWriting = false;
  #isScheduled = false;
  #isStopped = false;
  #whenIdle: (() => void) | undefined;

  constructor(transport: Transport, listener: WriterListener) {
    this.#transport = transport;
    this.#listener = listener;
  }

  /** Bytes of DATA for which there is room now. */
  get room(): number {
    return Math.max(0, HIGH_WATER_BYTES - this.#used);
  }

  preface(text: string): void {
    this.#reserve(text.length);
    this.#used += this.#out.write(text, this.#used, "latin1");
    this.#schedule();
  }

  /** Writes HEADERS, and CONTINUATION if one frame is too small. */
  headers(
    streamId: number,
    block: Uint8Array,
    length: number,
    endStream: boolean,
  ): void {
    let type: number = FRAME_TYPES.headers;
    let flags: number = endStream ? FRAME_FLAGS.endStream : 0;
    let from = 0;
    do {
      const to = Math.min(length, from + MAX_FRAME_BYTES);
      if (to === length) flags |= FRAME_FLAGS.endHeaders;
      this.#header(to - from, type, flags, streamId);
      this.#bytes(block, from, to);
      from = to;
      type = FRAME_TYPES.continuation;
      flags = 0;
    } while (from < length);
  }

  /** Writes a DATA frame of `bytes[start, end)`, at most `MAX_FRAME_BYTES`. */
  data(
    streamId: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    endStream: boolean,
  ): void {
    const flags = endStream ? FRAME_FLAGS.endStream : 0;
    this.#header(end - start, FRAME_TYPES.data, flags, streamId);
    this.#bytes(bytes, start, end);
  }

  rstStream(streamId: number, code: number): void {
    this.#reply(4, FRAME_TYPES.rstStream, 0, streamId);
    this.#uint32(code);
  }

  /** @param settings Identifier and value of each. */
  settings(settings: readonly (readonly [number, number])[]): void {
    this.#header(6 * settings.length, FRAME_TYPES.settings, 0, 0);
    for (const [identifier, value] of settings) {
      this.#used = this.#out.writeUInt16BE(identifier, this.#used);
      this.#uint32(value);
    }
  }

  settingsAck(): void {
    this.#reply(0, FRAME_TYPES.settings, FRAME_FLAGS.ack, 0);
  }

  /** @param payload 8 bytes. */
  ping(payload: Uint8Array, isAck: boolean): void {
    this.#reply(8, FRAME_TYPES.ping, isAck ? FRAME_FLAGS.ack : 0, 0);
    this.#bytes(payload, 0, 8);
  }

  goAway(lastStreamId: number, code: number, reason: string): void {
    const { length } = reason;
    this.#header(8 + length, FRAME_TYPES.goAway, 0, 0);
    this.#uint32(lastStreamId);
    this.#uint32(code);
    this.#used += this.#out.write(reason, this.#used, "latin1");
  }

  windowUpdate(streamId: number, increment: number): void {
    this.#reply(4, FRAME_TYPES.windowUpdate, 0, streamId);
    this.#uint32(increment);
  }

  /** Stops writing, since the transport is closed. */
  stop(): void {
    this.#isStopped = true;
    this.#used = 0;
  }

  /** Resolves when the transport has accepted all bytes, or failed. */
  flushed(): Promise<void> {
    const isDone = !this.#isWriting && this.#used === 0;
    if (isDone || this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle = resolve);
  }

  #reply(length: number, type: number, flags: number, streamId: number): void {
    this.replyBytes += FRAME_HEADER_BYTES + length;
    this.#header(length, type, flags, streamId);
  }

  /** Begins a frame with room for its payload. */
  #header(length: number, type: number, flags: number, streamId: number): void {
    this.#reserve(FRAME_HEADER_BYTES + length);
    const out = this.#out;
    let at = this.#used;
    out[at++] = length >>> 16;
    out[at++] = length >>> 8;
    out[at++] = length;
    out[at++] = type;
    out[at++] = flags;
    out[at++] = streamId >>> 24;
    out[at++] = streamId >>> 16;
    out[at++] = streamId >>> 8;
    out[at++] = streamId;
    this.#used = at;
    this.#schedule();
  }

  #bytes(bytes: Uint8Array, start: number, end: number): void {
    const isWhole = start === 0 && end === bytes.length;
    this.#out.set(isWhole ? bytes : bytes.subarray(start, end), this.#used);
    this.#used += end - start;
  }

  #uint32(value: number): void {
    this.#used = this.#out.writeUInt32BE(value, this.#used);
  }

  #reserve(count: number): void {
    const needed = this.#used + count;
    if (needed <= this.#out.length) return;
    const larger = Buffer.allocUnsafeSlow(
      Math.max(needed, 2 * this.#out.length),
    );
    larger.set(this.#out.subarray(0, this.#used));
    this.#out = larger;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isWriting) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isScheduled = false;
    if (this.#isStopped) this.#settle();
    if (this.#isStopped || this.#isWriting || this.#used === 0) return;
    this.#isWriting = true;
    const buffer = this.#out;
    const bytes = buffer.subarray(0, this.#used);
    this.#out = this.#spare ?? Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.#used = 0;
    this.#spare = buffer;
    writeAll(this.#transport, bytes).then(this.#written, this.#failed);
  };

  readonly #written = (): void => {
    this.#isWriting = false;
    this.replyBytes = 0;
    this.#listener.drained();
    if (this.#used > 0) return this.#schedule();
    this.#shrink();
    this.#settle();
  };

  readonly #failed = (error: unknown): void => {
    this.#isWriting = false;
    this.#used = 0;
    this.#listener.writeFailed(error);
    this.#settle();
  };

  #shrink(): void {
    if ((this.#spare?.length ?? 0) > KEPT_BYTES) this.#spare = undefined;
    if (this.#out.length > KEPT_BYTES) {
      this.#out = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    }
  }

  #settle(): void {
    const resolve = this.#whenIdle;
    this.#whenIdle = undefined;
    resolve?.();
  }
}
