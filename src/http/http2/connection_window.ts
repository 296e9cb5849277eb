import { Http2ConnectionError } from "./http2_error.ts";
import { DEFAULT_WINDOW, ERROR_CODES, MAX_WINDOW } from "./http2_protocol.ts";

/** The flow-control windows of a connection, for the bytes of all its streams (RFC 9113 section 5.2). */
export class ConnectionWindow {
  /** Bytes that we may send. */
  toSend = DEFAULT_WINDOW;
  readonly #size: number;
  #toReceive: number;
  #readBytes = 0;

  /** @param size For what we receive. */
  constructor(size: number) {
    this.#size = this.#toReceive = size;
  }

  /** The peer makes room. @throws {Http2ConnectionError} */
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

  /** Bytes arrived. @throws {Http2ConnectionError} When there was no room for them. */
  receive(count: number): void {
    this.#toReceive -= count;
    if (this.#toReceive < 0) {
      throw tooMuch("more was sent than the window allows");
    }
  }

  /** Bytes were read, or dropped; answers how much the peer is to be told now, mostly 0. */
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
