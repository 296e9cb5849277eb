import type { HeaderList } from "../header_list.ts";
import { HttpSyntaxError, malformed } from "./http_syntax_error.ts";
import type { InputBuffer } from "./input_buffer.ts";

/** How a body is delimited: by its length in bytes, by chunks, by the end of the connection. */
export type BodyFraming = number | "chunked" | "until-close";

/** Reads a body of one framing from the input of a connection. */
export interface BodyDecoder {
  /** Returns the next bytes of the body as a view; `more` when the buffer must be filled first; `end` after the last byte. */
  decode(input: InputBuffer): Uint8Array | "more" | "end";
  /** Whether the body is complete when the connection ends here. */
  readonly mayEndHere: boolean;
  readonly trailers: HeaderList | undefined;
}

const MAX_SAFE_DIGITS = 15;

/**
 * How the body of a request is delimited; 0 when there is none (RFC 9112 section 6.3).
 *
 * Refuses everything that two implementations could read differently: `Content-Length` together with
 * `Transfer-Encoding`, repeated or odd values of either, any transfer coding but `chunked`.
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
  expectChunked(headers);
  return "chunked";
}

/**
 * How the body of a response is delimited, given the request's method.
 * @throws {HttpSyntaxError} `malformed`.
 */
export function responseFraming(
  headers: HeaderList,
  status: number,
  method: string,
  minorVersion: number,
): BodyFraming {
  // Checked also where no body comes: the client reads the field all the same.
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
  expectChunked(headers);
  return "chunked";
}

function contentLength(headers: HeaderList): number | undefined {
  const value = headers.get("content-length");
  if (value === undefined) return undefined;
  if (headers.count("content-length") > 1) {
    throw malformed("Cannot accept two Content-Length headers");
  }
  if (!/^\d+$/.test(value)) {
    throw malformed("Cannot read Content-Length: expected digits");
  }
  if (value.length > MAX_SAFE_DIGITS) {
    throw new HttpSyntaxError(
      "malformed",
      "Cannot read Content-Length: the number is too large",
    );
  }
  return Number(value);
}

function expectChunked(headers: HeaderList): void {
  const value = headers.get("transfer-encoding");
  const isChunked = value?.toLowerCase() === "chunked" &&
    headers.count("transfer-encoding") === 1;
  if (!isChunked) {
    throw malformed('Cannot accept this Transfer-Encoding: expected "chunked"');
  }
}
