import type { Buffer } from "node:buffer";
import { tokenBytes } from "../../field_syntax.ts";
import { findHeadEnd, hasBareLineFeed } from "../../http1/head_parser.ts";
import { HttpSyntaxError, malformed } from "../../http1/http_syntax_error.ts";
import type { InputBuffer } from "../../http1/input_buffer.ts";

const CR = 0x0d;
const LF = 0x0a;
const TLS_HANDSHAKE = 0x16;
const TLS_MAJOR_VERSION = 0x03;
const PREFACE = "PRI * HTTP/2.0\r\n";

/**
 * Returns the end of the request head at the start of `input`, or -1 if it is incomplete.
 *
 * Rejects bytes that cannot become a valid head, instead of waiting for its end.
 * @param searched Number of bytes that were searched before.
 * @throws {HttpSyntaxError} `malformed`, `too_large`.
 */
export function locateHead(
  input: InputBuffer,
  searched: number,
  maxBytes: number,
): number {
  const { bytes, start, end } = input;
  if (start === end) return -1;
  const headEnd = findHeadEnd(bytes, start + Math.max(0, searched - 3), end);
  if ((headEnd < 0 ? end : headEnd) - start > maxBytes) {
    throw new HttpSyntaxError(
      "too_large",
      `Cannot read the request: its head is larger than ${maxBytes} bytes`,
    );
  }
  if (headEnd < 0) checkPartialHead(bytes, start, end, searched);
  return headEnd;
}

/** Skips an empty line, which some clients send after a body (RFC 9112 section 2.2). */
export function skipEmptyLine(input: InputBuffer): void {
  const { bytes, start } = input;
  if (input.available < 2) return;
  if (bytes[start] === CR && bytes[start + 1] === LF) input.start += 2;
}

/** Reports whether the client starts with HTTP/2 by prior knowledge (RFC 9113 section 3.4). */
export function startsWithPreface(input: InputBuffer): boolean {
  const { bytes, start } = input;
  return bytes[start] === 0x50 && bytes[start + 1] === 0x52 &&
    input.available >= PREFACE.length &&
    bytes.toString("latin1", start, start + PREFACE.length) === PREFACE;
}

function checkPartialHead(
  bytes: Buffer,
  start: number,
  end: number,
  searched: number,
): void {
  const first = bytes[start] ?? 0;
  if (first === TLS_HANDSHAKE && bytes[start + 1] === TLS_MAJOR_VERSION) {
    throw malformed(
      "Cannot read the request: the client uses TLS, but this port is plain HTTP",
    );
  }
  if (tokenBytes[first] !== 1 && !(first === CR && end - start === 1)) {
    throw malformed("Cannot read the request: it does not begin with a method");
  }
  if (hasBareLineFeed(bytes, start, end, searched)) {
    throw malformed("Cannot read the request: a line ends without CR");
  }
}
