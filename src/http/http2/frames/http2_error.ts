import { ERROR_CODES } from "./http2_protocol.ts";

/** A protocol error that ends the connection (RFC 9113 section 5.4.1). */
export class Http2ConnectionError extends Error {
  override readonly name = "Http2ConnectionError";

  /** @param code Of `ERROR_CODES`. */
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

/** A protocol error that ends one stream but not the connection (RFC 9113 section 5.4.2). */
export class Http2StreamError extends Error {
  override readonly name = "Http2StreamError";

  /** @param code Of `ERROR_CODES`. */
  constructor(
    readonly streamId: number,
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** A reset of a stream by the peer. */
export class StreamResetError extends Error {
  override readonly name = "StreamResetError";

  /** @param code Of `ERROR_CODES`. */
  constructor(readonly code: number) {
    super(`The stream was reset with code ${code}`);
  }

  /** True if the peer did not process the request (RFC 9113 section 8.7). */
  get isRefusal(): boolean {
    return this.code === ERROR_CODES.refusedStream;
  }
}
