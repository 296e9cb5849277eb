import { HeaderList } from "../header_list.ts";
import type { FieldBlock } from "./hpack/header_decoder.ts";
import { isConnectionField } from "./hpack/header_encoder.ts";
import { Http2StreamError } from "./frames/http2_error.ts";
import { ERROR_CODES } from "./frames/http2_protocol.ts";

const COLON = 0x3a;

/** The fields of a request. */
export interface RequestFields {
  readonly method: string;
  readonly scheme: string;
  readonly authority: string | undefined;
  readonly path: string;
  /** Value of `:protocol` in an extended CONNECT (RFC 8441). */
  readonly protocol: string | undefined;
  readonly headers: HeaderList;
}

/** The fields of a response. */
export interface ResponseFields {
  readonly status: number;
  readonly headers: HeaderList;
}

/**
 * Reads the fields of a request, and joins its cookie fields (RFC 9113 sections 8.2 and 8.3.1).
 * @throws {Http2StreamError} If the request is malformed.
 */
export function readRequestFields(
  streamId: number,
  block: FieldBlock,
): RequestFields {
  expectValid(streamId, block);
  const pseudo = readPseudo(streamId, block, requestPseudo);
  const [method = "", scheme = "", path = ""] = pseudo;
  const [, , , authority, protocol] = pseudo;
  const isTunnel = method === "CONNECT" && protocol === undefined;
  const isComplete = isTunnel
    ? authority !== undefined && scheme === "" && path === ""
    : method !== "" && scheme !== "" && path !== "";
  if (!isComplete || (protocol !== undefined && method !== "CONNECT")) {
    throw malformed(streamId, "pseudo-header fields are missing");
  }
  const headers = readHeaders(streamId, block);
  return { method, scheme, path, authority, protocol, headers };
}

/**
 * Reads the fields of a response or interim response (RFC 9113 section 8.3.2).
 * @throws {Http2StreamError} When the response is malformed.
 */
export function readResponseFields(
  streamId: number,
  block: FieldBlock,
): ResponseFields {
  expectValid(streamId, block);
  const [text = ""] = readPseudo(streamId, block, responsePseudo);
  if (!/^[1-9]\d\d$/.test(text)) {
    throw malformed(streamId, "the status code cannot be read");
  }
  return { status: Number(text), headers: readHeaders(streamId, block) };
}

/**
 * Reads trailer fields, and drops those about the length of the body, which are not allowed there.
 * @throws {Http2StreamError} When they are malformed.
 */
export function readTrailers(streamId: number, block: FieldBlock): HeaderList {
  expectValid(streamId, block);
  readPseudo(streamId, block, []);
  const trailers = readHeaders(streamId, block);
  trailers.delete("content-length");
  trailers.delete("te");
  return trailers;
}

const requestPseudo = [
  ":method",
  ":scheme",
  ":path",
  ":authority",
  ":protocol",
] as const;
const responsePseudo = [":status"] as const;

function expectValid(streamId: number, { isValid }: FieldBlock): void {
  if (isValid) return;
  throw malformed(streamId, "a field holds a forbidden character");
}

/** Reads the pseudo-header fields at the beginning, in the order of `names`. */
function readPseudo(
  streamId: number,
  { fields }: FieldBlock,
  names: readonly string[],
): readonly (string | undefined)[] {
  const values: (string | undefined)[] = [];
  for (let i = 0; fields[i]?.charCodeAt(0) === COLON; i += 2) {
    const index = names.indexOf(fields[i] ?? "");
    if (index < 0) throw malformed(streamId, "a pseudo-header is unknown");
    if (values[index] !== undefined) {
      throw malformed(streamId, "a pseudo-header is repeated");
    }
    values[index] = fields[i + 1];
  }
  return values;
}

/** Reads the fields after the pseudo-header fields. */
function readHeaders(streamId: number, { fields }: FieldBlock): HeaderList {
  const headers: string[] = [];
  let cookie = -1;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? "";
    const value = fields[i + 1] ?? "";
    if (name.charCodeAt(0) === COLON) {
      if (headers.length === 0) continue;
      throw malformed(streamId, "a pseudo-header follows a header");
    }
    if (
      isConnectionField(name) ||
      (name === "te" && value.toLowerCase() !== "trailers")
    ) {
      throw malformed(streamId, `"${name}" is not allowed in HTTP/2`);
    }
    if (name === "cookie") {
      if (cookie >= 0) {
        headers[cookie] += `; ${value}`;
        continue;
      }
      cookie = headers.length + 1;
    }
    headers.push(name, value);
  }
  return new HeaderList(headers);
}

function malformed(streamId: number, problem: string): Http2StreamError {
  return new Http2StreamError(
    streamId,
    ERROR_CODES.protocolError,
    `The message is malformed: ${problem}`,
  );
}
