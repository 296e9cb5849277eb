import type { FieldBlock } from "./hpack/header_decoder.ts";
import type { HeaderEncoder } from "./hpack/header_encoder.ts";
import { Http2StreamError } from "./frames/http2_error.ts";
import {
  ERROR_CODES,
  MAX_FRAME_BYTES,
  MAX_WINDOW,
} from "./frames/http2_protocol.ts";
import { ReceiveQueue } from "./receive_queue.ts";
import type { StreamOutput } from "./stream_output.ts";

/** Listener of a stream. */
export interface StreamOwner {
  /** Called for fields after those that opened the stream: a response, or trailers. */
  fieldsReceived(block: FieldBlock, endStream: boolean): void;
  /** Called when bytes of a body, or its end, were received. */
  bodyReceived(): void;
  /** Called once, when the stream was cut by `error`, or ended by both sides. */
  streamClosed(error: Error | undefined): void;
}

/** The connection of a stream. */
export interface StreamCarrier {
  /** Frees the room of bytes that were read or dropped in the connection's window. */
  release(count: number): void;
  reset(stream: Http2Stream, code: number, error: Error): void;
  /** Called when both sides have ended the stream. */
  ended(stream: Http2Stream): void;
}

/**
 * One stream of a connection: its states, windows and pending bytes (RFC 9113 sections 5.1 and 5.2).
 *
 * Has one writer, which writes a chunk at a time, and one reader.
 */
export class Http2Stream {
  owner: StreamOwner | undefined;
  localEnded = false;
  remoteEnded = false;
  isClosed = false;
  /** Error that cut the stream. */
  error: Error | undefined;
  readonly id: number;
  readonly #carrier: StreamCarrier;
  readonly #output: StreamOutput;
  readonly #queue = new ReceiveQueue();
  readonly #windowBytes: number;
  #sendWindow: number;
  #receiveWindow: number;
  /** Bytes that were read and not yet returned to the peer's window. */
  #readBytes = 0;
  #received = 0;
  #expected: number | undefined;
  #isDiscarding = false;
  #pending: Uint8Array | undefined;
  #pendingFrom = 0;
  #pendingEnds = false;
  #written: PromiseWithResolvers<void> | undefined;

  constructor(
    id: number,
    carrier: StreamCarrier,
    output: StreamOutput,
    windows: { readonly send: number; readonly receive: number },
  ) {
    this.id = id;
    this.#carrier = carrier;
    this.#output = output;
    this.#sendWindow = windows.send;
    this.#windowBytes = this.#receiveWindow = windows.receive;
  }

  /** Received bytes of the body. */
  get received(): number {
    return this.#received;
  }

  /** Writes the header block that `encode` fills; nothing when the stream is closed. */
  sendFields(
    encode: (encoder: HeaderEncoder) => void,
    endStream: boolean,
  ): void {
    if (this.isClosed || this.localEnded) return;
    encode(this.#output.beginFields());
    this.#output.writeFields(this.id, endStream);
    if (endStream) this.#endLocal();
  }

  /**
   * Writes bytes of the body, which must not change until then; an empty chunk may end the body.
   *
   * Returns a promise when the peer's window or the transport has no room for all bytes; it rejects when the stream is cut.
   */
  send(chunk: Uint8Array, endStream: boolean): Promise<void> | undefined {
    if (this.isClosed || this.localEnded) {
      return Promise.reject(this.error ?? new Error("The stream is closed"));
    }
    this.#pending = chunk;
    this.#pendingFrom = 0;
    this.#pendingEnds = endStream;
    this.writeMore();
    if (this.#pending === undefined) return undefined;
    this.#written = Promise.withResolvers();
    return this.#written.promise;
  }

  /** Reports whether so many bytes could be written now. */
  hasRoom(bytes: number): boolean {
    return bytes <= Math.min(this.#sendWindow, this.#output.budget);
  }

  /** Writes as much of the pending chunk as there is room for. */
  writeMore(): void {
    const chunk = this.#pending;
    if (chunk === undefined) return;
    const output = this.#output;
    for (;;) {
      const from = this.#pendingFrom;
      const left = chunk.length - from;
      const count = Math.min(
        left,
        MAX_FRAME_BYTES,
        this.#sendWindow,
        output.budget,
      );
      if (count <= 0 && left > 0) break;
      this.#sendWindow -= count;
      this.#pendingFrom += count;
      const isLast = count === left;
      const ends = isLast && this.#pendingEnds;
      output.writeData(this.id, chunk, from, from + count, ends);
      if (isLast) return this.#chunkWritten();
    }
    if (this.#sendWindow > 0) output.wait(this);
  }

  /** Changes the peer's window; a setting may also shrink it (RFC 9113 section 6.9.2). */
  widenSendWindow(increment: number): void {
    this.#sendWindow += increment;
    if (this.#sendWindow > MAX_WINDOW) {
      throw this.#failed(
        ERROR_CODES.flowControlError,
        "The window is too large",
      );
    }
    if (increment > 0) this.writeMore();
  }

  /** Queues received bytes of the body. @throws {Http2StreamError} */
  receive(data: Uint8Array, flowBytes: number, endStream: boolean): void {
    if (this.remoteEnded) {
      this.#carrier.release(flowBytes);
      throw this.#failed(ERROR_CODES.streamClosed, "DATA follows the end");
    }
    this.#receiveWindow -= flowBytes;
    this.#received += data.length;
    const isPadding = flowBytes - data.length;
    if (this.#isDiscarding) this.#giveBack(flowBytes);
    else {
      this.#queue.push(data);
      if (isPadding > 0) this.#giveBack(isPadding);
    }
    if (this.#receiveWindow < 0) {
      throw this.#failed(
        ERROR_CODES.flowControlError,
        "More was sent than the window allows",
      );
    }
    if (endStream) this.endRemote();
    else this.#expectRoom();
    this.owner?.bodyReceived();
  }

  /** Ends the peer's side. @throws {Http2StreamError} If the body is shorter than announced. */
  endRemote(): void {
    this.remoteEnded = true;
    this.#expectRoom();
    if (this.localEnded) this.#end();
  }

  /** Sets the length of the body in bytes; any other length is a stream error. @throws {Http2StreamError} */
  expectLength(length: number): void {
    this.#expected = length;
    this.#expectRoom();
  }

  /** Returns the next bytes of the body; `undefined` when none have arrived. */
  take(): Uint8Array | undefined {
    const chunk = this.#queue.shift();
    if (chunk !== undefined) this.#giveBack(chunk.length);
    return chunk;
  }

  /** Drops the rest of the body as it arrives. */
  discard(): void {
    this.#isDiscarding = true;
    this.#giveBack(this.#queue.clear());
  }

  /** Resets the stream with an error code. */
  reset(code: number, error: Error): void {
    if (!this.isClosed) this.#carrier.reset(this, code, error);
  }

  /** Closes the stream; called by the connection. */
  close(error: Error | undefined): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.error = error;
    this.#pending = undefined;
    if (error !== undefined) this.#carrier.release(this.#queue.clear());
    this.#written?.reject(error ?? new Error("The stream is closed"));
    this.#written = undefined;
    this.owner?.streamClosed(error);
  }

  #chunkWritten(): void {
    this.#pending = undefined;
    const written = this.#written;
    this.#written = undefined;
    if (this.#pendingEnds) this.#endLocal();
    written?.resolve();
  }

  #endLocal(): void {
    this.localEnded = true;
    if (this.remoteEnded) this.#end();
  }

  #end(): void {
    this.#carrier.ended(this);
  }

  #expectRoom(): void {
    const expected = this.#expected;
    if (expected === undefined) return;
    const isWrong = this.#received > expected ||
      (this.remoteEnded && this.#received < expected);
    if (!isWrong) return;
    throw this.#failed(
      ERROR_CODES.protocolError,
      `The body has ${this.#received} bytes in place of ${expected}`,
    );
  }

  #giveBack(count: number): void {
    if (count === 0) return;
    this.#carrier.release(count);
    if (this.remoteEnded || this.isClosed) return;
    this.#readBytes += count;
    if (2 * this.#readBytes < this.#windowBytes) return;
    this.#output.widenWindow(this.id, this.#readBytes);
    this.#receiveWindow += this.#readBytes;
    this.#readBytes = 0;
  }

  #failed(code: number, message: string): Http2StreamError {
    return new Http2StreamError(this.id, code, message);
  }
}
