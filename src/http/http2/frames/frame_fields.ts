import { Http2ConnectionError, Http2StreamError } from "./http2_error.ts";
import { ERROR_CODES } from "./http2_protocol.ts";

/** Checks the stream ID of a frame for streams. @throws {Http2ConnectionError} If it is 0. */
export function expectStream(streamId: number, frame: string): void {
  if (streamId === 0) throw protocolError(`${frame} is for no stream`);
}

/** Checks the stream ID of a frame for the connection. @throws {Http2ConnectionError} If it is not 0. */
export function expectConnection(streamId: number, frame: string): void {
  if (streamId !== 0) throw protocolError(`${frame} is for a stream`);
}

/** Checks a frame of fixed length. @throws {Http2ConnectionError} If it has another length. */
export function expectLength(
  length: number,
  expected: number,
  frame: string,
): void {
  if (length !== expected) throw frameSize(`${frame} has the wrong length`);
}

/**
 * Checks a priority (RFC 7540 section 5.3.1), which RFC 9113 deprecates.
 * @throws {Http2StreamError} If the stream depends on itself.
 */
export function expectOther(streamId: number, dependency: number): void {
  if (streamId !== dependency) return;
  throw new Http2StreamError(
    streamId,
    ERROR_CODES.protocolError,
    "A stream depends on itself",
  );
}

/** Creates a connection error with code `PROTOCOL_ERROR`. */
export function protocolError(message: string): Http2ConnectionError {
  return new Http2ConnectionError(ERROR_CODES.protocolError, message);
}

/** Creates a connection error for a frame with a wrong length. */
export function frameSize(message: string): Http2ConnectionError {
  return new Http2ConnectionError(ERROR_CODES.frameSizeError, message);
}

/** Reads three bytes, big-endian. */
export function uint24(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) |
    (bytes[at + 2] ?? 0);
}

/** Reads four bytes, big-endian, without the first bit, which is reserved. */
export function uint31(bytes: Uint8Array, at: number): number {
  return uint32(bytes, at) & 0x7fff_ffff;
}

/** Reads four bytes, big-endian. */
export function uint32(bytes: Uint8Array, at: number): number {
  return (((bytes[at] ?? 0) << 24) | uint24(bytes, at + 1)) >>> 0;
}
