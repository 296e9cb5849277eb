import type { HeaderList } from "../header_list.ts";
import { HttpSyntaxError, malformed } from "./http_syntax_error.ts";
import type { InputBuffer } from "./input_buffer.ts";

/** Framing of a body: its length in bytes, chunked, or terminated by the end of the connection. */
export type BodyFraming = number | "chunked" | "until-close";

/** Decodes a body with one framing from the input of a connection. */
export interface BodyDecoder {
  /** Returns the next bytes as a view; `more` when the buffer must be filled first; `end` after the last byte. */
  decode(input: InputBuffer): Uint8Array | "more" | "end";
  /** The body is complete if the connection ends here. */
  readonly mayEndHere: boolean;
  readonly trailers: HeaderList | undefined;
  /** Bytes that `decode` has not returned yet; omitted where only the end tells. */
  readonly remaining?: number;
}

const MAX_SAFE_DIGITS = 15;
const ZERO = 0x30;

/**
 * Determines the framing of a request's body; 0 without a body (RFC 9112 section 6.3).
 *
 * Rejects everything that implementations could interpret differently: `Content-Length` together with `Transfer-Encoding`,
 * repeated or unusual values of either, transfer codings other than `chunked`.
 * @throws {HttpSyntaxError} `malformed`.
 */
export function requestFraming(
  headers: HeaderList,
  minorVersion: number,
): number | "chunked" {
  const length = contentLength(headers);
  if (!headers.has("transfer-encoding")) return length ?? 0;
  if (length !== undefined) {
    throw malformed(
      "Cannot accept Content-Length together with Transfer-Encoding",
    );
  }
  if (minorVersion === 0) {
    throw malformed("Cannot accept Transfer-Encoding in HTTP/1.0");
  }
  assertChunked(headers);
  return "chunked";
}

/**
 * Determines the framing of a response's body, given the request's method.
 * @throws {HttpSyntaxError} `malformed`.
 */
export function responseFraming(
  headers: HeaderList,
  status: number,
  method: string,
  minorVersion: number,
): BodyFraming {
  // Validated also for responses without body, as the client reads the field.
  const length = contentLength(headers);
  if (method === "HEAD" || status === 204 || status === 304 || status < 200) {
    return 0;
  }
  if (!headers.has("transfer-encoding")) return length ?? "until-close";
  if (length !== undefined || minorVersion === 0) {
    throw malformed(
      "Cannot accept this combination of Content-Length and Transfer-Encoding",
    );
  }
  assertChunked(headers);
  return "chunked";
}

function contentLength(headers: HeaderList): number | undefined {
  const value = headers.getJoined("content-length");
  if (value === undefined) return undefined;
  const length = parseDigits(value);
  if (length < 0) {
    throw malformed(
      headers.count("content-length") > 1
        ? "Cannot accept two Content-Length headers"
        : "Cannot read Content-Length: expected digits",
    );
  }
  if (value.length > MAX_SAFE_DIGITS) {
    throw new HttpSyntaxError(
      "malformed",
      "Cannot read Content-Length: the number is too large",
    );
  }
  return length;
}

/** Returns the number that digits stand for, -1 for any other text. A regular expression would take several times as long. */
function parseDigits(text: string): number {
  let number = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    number = 10 * number + digit;
  }
  return text === "" ? -1 : number;
}

function assertChunked(headers: HeaderList): void {
  const value = headers.get("transfer-encoding");
  const isChunked = value?.toLowerCase() === "chunked" &&
    headers.count("transfer-encoding") === 1;
  if (!isChunked) {
    throw malformed('Cannot accept this Transfer-Encoding: expected "chunked"');
  }
}
