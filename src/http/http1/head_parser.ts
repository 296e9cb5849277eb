import { Buffer } from "node:buffer";
import { targetBytes, tokenBytes, valueBytes } from "../field_syntax.ts";
import { HeaderList } from "../header_list.ts";
import { takeConnectionFields } from "../hop_by_hop.ts";
import { HttpSyntaxError, malformed } from "./http_syntax_error.ts";

const CR = 0x0d;
const LF = 0x0a;
const SP = 0x20;
const TAB = 0x09;
const COLON = 0x3a;
const ZERO = 0x30;

/** First line and fields of a request, not interpreted yet. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** 0 or 1, for HTTP/1.0 and HTTP/1.1. */
  readonly minorVersion: number;
  readonly headers: HeaderList;
}

/** First line and fields of a response, not interpreted yet. */
export interface ResponseHead {
  readonly status: number;
  readonly minorVersion: number;
  readonly headers: HeaderList;
}

/**
 * Returns the position after the empty line that ends a head, or -1 if it has not arrived yet.
 * @param from Start of the search: the end of the previous search, less 3.
 */
export function findHeadEnd(
  bytes: Uint8Array,
  from: number,
  end: number,
): number {
  // Looks at every third byte, which is enough to find LF CR LF.
  for (let last = from + 2; last < end;) {
    const byte = bytes[last];
    if (byte !== LF) last += byte === CR ? 1 : 3;
    else if (bytes[last - 1] === CR && bytes[last - 2] === LF) return last + 1;
    else last += 2;
  }
  return -1;
}

/**
 * Reports whether a line of a partial head, `bytes[start, end)`, ends without CR; such a head may never end.
 * @param searched Number of bytes that were searched before.
 */
export function hasBareLineFeed(
  bytes: Uint8Array,
  start: number,
  end: number,
  searched: number,
): boolean {
  for (
    let i = indexOfByte(bytes, LF, start + searched, end);
    i >= 0;
    i = indexOfByte(bytes, LF, i + 1, end)
  ) {
    if (i === start || bytes[i - 1] !== CR) return true;
  }
  return false;
}

/** Returns the first index of `byte` in `bytes[from, end)`, or -1. `indexOf` would also search the stale rest of the buffer. */
export function indexOfByte(
  bytes: Uint8Array,
  byte: number,
  from: number,
  end: number,
): number {
  for (let i = from; i < end; i++) if (bytes[i] === byte) return i;
  return -1;
}

/**
 * Parses the request head `bytes[start, end)`, which includes its empty line (RFC 9112 sections 2–5).
 *
 * Strict: CRLF only, no whitespace before a colon, no line folding, no control characters, only visible ASCII in the target.
 * @throws {HttpSyntaxError} `malformed` or `version`.
 */
export function parseRequestHead(
  bytes: Buffer,
  start: number,
  end: number,
): RequestHead {
  const methodEnd = skip(bytes, start, tokenBytes);
  if (methodEnd === start || bytes[methodEnd] !== SP) {
    throw malformed("Cannot read the method");
  }
  const targetStart = methodEnd + 1;
  const targetEnd = skip(bytes, targetStart, targetBytes);
  if (targetEnd === targetStart || bytes[targetEnd] !== SP) {
    throw malformed("Cannot read the request target");
  }
  const lineEnd = targetEnd + 9;
  const text = bytes.toString("latin1", start, end);
  const minorVersion = parseVersion(
    text.slice(targetEnd + 1 - start, lineEnd - start),
  );
  if (bytes[lineEnd] !== CR || bytes[lineEnd + 1] !== LF) {
    throw malformed("Cannot read the request line");
  }
  return {
    method: text.slice(0, methodEnd - start),
    target: text.slice(targetStart - start, targetEnd - start),
    minorVersion,
    headers: readFields(bytes, text, start, lineEnd + 2, end),
  };
}

/**
 * Parses the response head `bytes[start, end)`, which includes its empty line.
 * @throws {HttpSyntaxError} `malformed` or `version`.
 */
export function parseResponseHead(
  bytes: Buffer,
  start: number,
  end: number,
): ResponseHead {
  const text = bytes.toString("latin1", start, end);
  const minorVersion = parseVersion(text.slice(0, 8));
  const status = parseStatus(bytes, start + 8);
  const reasonStart = start + 12;
  const lineEnd = skip(bytes, reasonStart, valueBytes);
  const separated = lineEnd === reasonStart || bytes[reasonStart] === SP;
  if (!separated || bytes[lineEnd] !== CR || bytes[lineEnd + 1] !== LF) {
    throw malformed("Cannot read the status line");
  }
  return {
    status,
    minorVersion,
    headers: readFields(bytes, text, start, lineEnd + 2, end),
  };
}

/**
 * Parses the trailer fields `bytes[start, end)`, which include the empty line.
 *
 * Rejects framing fields: a recipient that merges trailers into headers would read a different message (RFC 9110 section 6.5.1).
 * Drops hop-by-hop fields.
 * @throws {HttpSyntaxError} `malformed`.
 */
export function parseTrailers(
  bytes: Buffer,
  start: number,
  end: number,
): HeaderList {
  const text = bytes.toString("latin1", start, end);
  const trailers = readFields(bytes, text, start, start, end);
  if (trailers.has("content-length") || trailers.has("transfer-encoding")) {
    throw malformed("Cannot accept framing fields in trailers");
  }
  takeConnectionFields(trailers);
  return trailers;
}

/** Checks bytes and slices strings: `text` is the decoded head; its first character is byte `base`. */
function readFields(
  bytes: Buffer,
  text: string,
  base: number,
  start: number,
  end: number,
): HeaderList {
  const fields: string[] = [];
  const last = end - 2;
  let position = start;
  while (position < last) {
    const nameEnd = skip(bytes, position, tokenBytes);
    if (nameEnd === position || bytes[nameEnd] !== COLON) {
      throw malformed("Cannot read a header name");
    }
    const valueStart = skipBlanks(bytes, nameEnd + 1);
    const lineEnd = skip(bytes, valueStart, valueBytes);
    if (bytes[lineEnd] !== CR || bytes[lineEnd + 1] !== LF) {
      throw malformed(
        "Cannot read a header value: it contains a control character",
      );
    }
    const valueEnd = trimBlanks(bytes, valueStart, lineEnd);
    fields.push(
      text.slice(position - base, nameEnd - base),
      text.slice(valueStart - base, valueEnd - base),
    );
    position = lineEnd + 2;
  }
  if (position !== last) {
    throw malformed("Cannot read the header: it ends inside a line");
  }
  return new HeaderList(fields);
}

function parseVersion(text: string): number {
  if (text === "HTTP/1.1") return 1;
  if (text === "HTTP/1.0") return 0;
  // RFC 9110 section 2.5: a higher minor version is processed as the highest known.
  if (/^HTTP\/1\.[2-9]$/.test(text)) return 1;
  if (/^HTTP\/\d\.\d$/.test(text)) {
    throw new HttpSyntaxError(
      "version",
      `HTTP version not supported: "${text}"`,
    );
  }
  throw malformed("Cannot read the HTTP version");
}

/** Reads a space and the three digits of a status, of which the first is not 0. */
function parseStatus(bytes: Buffer, at: number): number {
  const status = 100 * digitAt(bytes, at + 1) + 10 * digitAt(bytes, at + 2) +
    digitAt(bytes, at + 3);
  if (bytes[at] === SP && status >= 100) return status;
  throw malformed("Cannot read the status code");
}

function digitAt(bytes: Buffer, at: number): number {
  const digit = (bytes[at] ?? 0) - ZERO;
  return digit >= 0 && digit <= 9 ? digit : NaN;
}

function skip(bytes: Buffer, from: number, table: Uint8Array): number {
  let i = from;
  while (table[bytes[i] ?? 0] === 1) i++;
  return i;
}

function skipBlanks(bytes: Buffer, from: number): number {
  let i = from;
  while (bytes[i] === SP || bytes[i] === TAB) i++;
  return i;
}

function trimBlanks(bytes: Buffer, from: number, end: number): number {
  let i = end;
  while (i > from && (bytes[i - 1] === SP || bytes[i - 1] === TAB)) i--;
  return i;
}
