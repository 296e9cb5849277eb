import {
  findHeadEnd,
  hasBareLineFeed,
  indexOfByte,
  parseTrailers,
} from "./head_parser.ts";
import type { BodyDecoder } from "./framing.ts";
import type { HeaderList } from "../header_list.ts";
import { HttpSyntaxError, malformed } from "./http_syntax_error.ts";
import type { InputBuffer } from "./input_buffer.ts";

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const MAX_SIZE_LINE_BYTES = 1024;
const MAX_SIZE_DIGITS = 12;
const latin1 = new TextDecoder("latin1");
/** `;name`, `;name=value` or `;name="value"`, without whitespace (RFC 9112 section 7.1.1). */
const chunkExtensions =
  /^(?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~]|\\[\t -~])*"))?)+$/;

/**
 * Decodes the chunked transfer coding (RFC 9112 section 7.1).
 *
 * Strict: CRLF only, no whitespace around the size, size lines of at most 1 KiB. Validates and drops chunk extensions, as the RFC
 * allows.
 */
export class ChunkedDecoder implements BodyDecoder {
  readonly mayEndHere = false;
  trailers: HeaderList | undefined;
  readonly #maxTrailerBytes: number;
  #state: "size" | "data" | "data-end" | "trailers" | "end" = "size";
  #remaining = 0;

  constructor(maxTrailerBytes: number) {
    this.#maxTrailerBytes = maxTrailerBytes;
  }

  decode(input: InputBuffer): Uint8Array | "more" | "end" {
    for (;;) {
      if (this.#state === "end") return "end";
      if (this.#state === "data") {
        if (input.available === 0) return "more";
        return this.#takeData(input);
      }
      if (!this.#advance(input)) return "more";
    }
  }

  #takeData(input: InputBuffer): Uint8Array {
    const bytes = input.take(this.#remaining);
    this.#remaining -= bytes.length;
    if (this.#remaining === 0) this.#state = "data-end";
    return bytes;
  }

  /** Consumes the bytes between chunks of data; returns `false` when they are incomplete. */
  #advance(input: InputBuffer): boolean {
    if (this.#state === "size") return this.#readSize(input);
    if (this.#state === "data-end") return this.#readDataEnd(input);
    return this.#readTrailers(input);
  }

  #readSize(input: InputBuffer): boolean {
    const { bytes, start, end } = input;
    const searchEnd = Math.min(end, start + MAX_SIZE_LINE_BYTES);
    const lineFeed = indexOfByte(bytes, LF, start, searchEnd);
    if (lineFeed < 0) {
      if (searchEnd === end) return false;
      throw malformed("Cannot read a chunk: its size line is too long");
    }
    this.#remaining = parseSizeLine(bytes, start, lineFeed);
    this.#state = this.#remaining === 0 ? "trailers" : "data";
    input.start = lineFeed + 1;
    return true;
  }

  #readDataEnd(input: InputBuffer): boolean {
    if (input.available < 2) return false;
    if (
      input.bytes[input.start] !== CR || input.bytes[input.start + 1] !== LF
    ) {
      throw malformed("Cannot read a chunk: it is longer than its size");
    }
    input.start += 2;
    this.#state = "size";
    return true;
  }

  #readTrailers(input: InputBuffer): boolean {
    const { bytes, start, end } = input;
    if (end - start >= 2 && bytes[start] === CR && bytes[start + 1] === LF) {
      input.start += 2;
      this.#state = "end";
      return true;
    }
    const trailersEnd = findHeadEnd(bytes, start, end);
    if ((trailersEnd < 0 ? end : trailersEnd) - start > this.#maxTrailerBytes) {
      throw new HttpSyntaxError(
        "too_large",
        "Cannot read the trailers: they are too large",
      );
    }
    if (trailersEnd < 0) {
      // The end of such trailers may never come.
      if (hasBareLineFeed(bytes, start, end, 0)) {
        throw malformed("Cannot read the trailers: a line ends without CR");
      }
      return false;
    }
    this.trailers = parseTrailers(bytes, start, trailersEnd);
    input.start = trailersEnd;
    this.#state = "end";
    return true;
  }
}

/** Parses the size in `[start, lineFeed]`, such as `1a;name=value CR LF`. */
function parseSizeLine(
  bytes: Uint8Array,
  start: number,
  lineFeed: number,
): number {
  let size = 0;
  let position = start;
  for (
    let digit = hexDigit(bytes[position]);
    digit >= 0;
    digit = hexDigit(bytes[position])
  ) {
    size = size * 16 + digit;
    position++;
    if (position - start > MAX_SIZE_DIGITS) {
      throw malformed("Cannot read a chunk: it is too large");
    }
  }
  if (position === start) {
    throw malformed(
      "Cannot read a chunk: its size is not a hexadecimal number",
    );
  }
  if (bytes[position] === SEMICOLON) {
    const extensions = bytes.subarray(position, lineFeed - 1);
    // Latin-1 yields one character per byte, regardless of the actual encoding.
    if (chunkExtensions.test(latin1.decode(extensions))) {
      position = lineFeed - 1;
    }
  }
  if (bytes[position] !== CR || position + 1 !== lineFeed) {
    throw malformed("Cannot read a chunk: its size line is malformed");
  }
  return size;
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
