import { Buffer } from "node:buffer";
import type { Transport } from "../../transport.ts";
import { Http2StreamError } from "./http2_error.ts";
import {
  FRAME_HEADER_BYTES,
  MAX_FRAME_BYTES,
  PREFACE,
} from "./http2_protocol.ts";
import { protocolError } from "./frame_fields.ts";
import { FrameParser } from "./frame_parser.ts";
import type { FrameSink } from "./frame_sink.ts";

const IDLE_BYTES = 4 * 1024;
/** Room for two frames. */
const BUSY_BYTES = 2 * (MAX_FRAME_BYTES + FRAME_HEADER_BYTES);

/** Receives frames, and decides how long they are parsed. */
export interface FrameConsumer extends FrameSink {
  /** True if the rest is not parsed. */
  readonly isEnding: boolean;
  /** Resets a stream after a protocol error of the peer. @throws {Http2ConnectionError} After too many of them. */
  failStream(error: Http2StreamError): void;
}

/** Reads frames from a transport; buffers at most one frame and the bytes of one read. */
export class FrameReader {
  readonly #transport: Transport;
  readonly #consumer: FrameConsumer;
  readonly #parser: FrameParser;
  #bytes: Buffer = Buffer.allocUnsafeSlow(IDLE_BYTES);
  #start = 0;
  #end = 0;
  #sawPreface: boolean;

  /** @param expectsPreface True if the peer is a client, whose connection begins with the preface. */
  constructor(
    transport: Transport,
    consumer: FrameConsumer,
    maxBlockBytes: number,
    expectsPreface: boolean,
  ) {
    this.#transport = transport;
    this.#consumer = consumer;
    this.#parser = new FrameParser(consumer, maxBlockBytes);
    this.#sawPreface = !expectsPreface;
  }

  /** True inside the preface, or inside a header block. */
  get isInsideHead(): boolean {
    return !this.#sawPreface || this.#parser.isInsideBlock;
  }

  /**
   * Reads more bytes into the buffer; returns `false` at the end of the stream.
   * @param isIdle True if few bytes are expected: then a large buffer is released.
   */
  async fill(isIdle: boolean): Promise<boolean> {
    this.#makeRoom(isIdle);
    const count = await this.#transport.read(this.#bytes.subarray(this.#end));
    if (count === null) return false;
    this.#end += count;
    return true;
  }

  /** Adds bytes that were already read from the transport. */
  add(early: Uint8Array): void {
    this.#grow(this.#end + early.length);
    this.#bytes.set(early, this.#end);
    this.#end += early.length;
  }

  /** Parses the buffered bytes. @throws {Http2ConnectionError} */
  parse(): void {
    this.#sawPreface ||= this.#takePreface();
    if (!this.#sawPreface) return;
    while (!this.#consumer.isEnding) {
      let next: number;
      try {
        next = this.#parser.parse(this.#bytes, this.#start, this.#end);
      } catch (error) {
        if (!(error instanceof Http2StreamError)) throw error;
        next = this.#parser.resumeAt;
        this.#consumer.failStream(error);
      }
      if (next === this.#start) return;
      this.#start = next;
    }
  }

  /** Reads and drops up to `budget` bytes, or until the stream ends. */
  async skip(budget: number): Promise<void> {
    for (let left = budget; left > 0;) {
      const count = await this.#transport.read(this.#bytes);
      if (count === null) return;
      left -= count;
    }
  }

  #takePreface(): boolean {
    const count = Math.min(PREFACE.length, this.#end);
    if (this.#bytes.toString("latin1", 0, count) !== PREFACE.slice(0, count)) {
      throw protocolError("this is not HTTP/2");
    }
    if (count < PREFACE.length) return false;
    this.#start = count;
    return true;
  }

  #makeRoom(isIdle: boolean): void {
    if (this.#start === this.#end) {
      this.#start = this.#end = 0;
      if (isIdle && this.#bytes.length > IDLE_BYTES) {
        this.#bytes = Buffer.allocUnsafeSlow(IDLE_BYTES);
      }
    } else if (this.#start > 0) {
      this.#bytes.copyWithin(0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#start = 0;
    }
    if (this.#end === this.#bytes.length) this.#grow(BUSY_BYTES);
  }

  #grow(size: number): void {
    if (size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(size, BUSY_BYTES));
    larger.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = larger;
  }
}
