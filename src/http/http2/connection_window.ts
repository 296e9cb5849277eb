import { Http2ConnectionError } from "./frames/http2_error.ts";
import {
  DEFAULT_WINDOW,
  ERROR_CODES,
  MAX_WINDOW,
} from "./frames/http2_protocol.ts";

/** The flow-control windows of a connection, for the bytes of all its streams (RFC 9113 section 5.2). */
export class ConnectionWindow {
  /** Bytes that may be sent. */
  toSend = DEFAULT_WINDOW;
  readonly #size: number;
  #toReceive: number;
  #readBytes = 0;

  /** @param size Window for received bytes. */
  constructor(size: number) {
    this.#size = this.#toReceive = size;
  }

  /** Handles an update of the peer. @throws {Http2ConnectionError} */
  widen(increment: number): void {
    this.toSend += increment;
    if (increment === 0) {
      throw new Http2ConnectionError(
        ERROR_CODES.protocolError,
        "WINDOW_UPDATE adds nothing",
      );
    }
    if (this.toSend > MAX_WINDOW) throw tooMuch("the window is too large");
  }

  /** Counts received bytes. @throws {Http2ConnectionError} If they exceed the window. */
  receive(count: number): void {
    this.#toReceive -= count;
    if (this.#toReceive < 0) {
      throw tooMuch("more was sent than the window allows");
    }
  }

  /** Frees the room of bytes that were read or dropped; returns the increment to announce now, mostly 0. */
  release(count: number): number {
    this.#readBytes += count;
    if (2 * this.#readBytes < this.#size) return 0;
    const increment = this.#readBytes;
    this.#toReceive += increment;
    this.#readBytes = 0;
    return increment;
  }
}

function tooMuch(message: string): Http2ConnectionError {
  return new Http2ConnectionError(ERROR_CODES.flowControlError, message);
}
