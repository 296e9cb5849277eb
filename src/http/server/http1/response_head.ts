import type { Clock } from "../../../base/clock.ts";
import type { Body } from "../../body.ts";
import type { HeaderList } from "../../header_list.ts";
import type { ResponseMessage } from "../../message.ts";
import type { OutgoingFraming } from "../../http1/message_writer.ts";
import type { Http1Request } from "./http1_request.ts";
import { statusLine } from "./status_text.ts";

const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

/** A response prepared for an HTTP/1.x client. */
export interface OutgoingResponse {
  /** Status line and fields including the empty line. */
  readonly head: string;
  readonly framing: OutgoingFraming;
  readonly body: Body | undefined;
  /** The connection serves another request afterwards. */
  readonly persists: boolean;
}

/** Request and connection state for a response. */
export interface ResponseContext {
  /** The request; `undefined` if it could not be parsed. */
  readonly request: Http1Request | undefined;
  /** The gateway may keep the connection. */
  readonly persists: boolean;
  /** Value for `Date`. */
  readonly date: string;
}

/** Returns the value for `Date` at each call (RFC 9110 section 6.6.1), formatted once a second. */
export function createDateSource(clock: Clock): () => string {
  let second = NaN;
  let date = "";
  return () => {
    const now = Math.floor(clock.now() / 1000);
    if (now !== second) {
      second = now;
      date = new Date(now * 1000).toUTCString();
    }
    return date;
  };
}

/** Determines the framing of a response and formats its head. Modifies the framing fields in `response.headers`. */
export function prepareResponse(
  response: ResponseMessage,
  context: ResponseContext,
): OutgoingResponse {
  const { request } = context;
  const { headers } = response;
  const isOld = request?.version === "1.0";
  setFraming(response, request?.sentMethod);
  const framing = framingOf(response, request?.sentMethod, isOld);
  const persists = context.persists && framing !== "until-close";
  let head = statusLine(response.status) + headers.serialize();
  if (framing === "chunked") head += "Transfer-Encoding: chunked\r\n";
  if (!headers.has("date")) head += "Date: " + context.date + "\r\n";
  if (!persists) head += "Connection: close\r\n";
  else if (isOld) head += "Connection: keep-alive\r\n";
  return {
    head: head + "\r\n",
    framing,
    body: framing === "chunked" && request?.acceptsTrailers !== true
      ? withoutTrailers(response.body)
      : response.body,
    persists,
  };
}

/** Formats the head of a 101 response (RFC 9110 section 7.8). */
export function switchingProtocolsHead(
  response: ResponseMessage,
  protocol: string,
): string {
  let head = statusLine(response.status) + response.headers.serialize();
  if (!response.headers.has("upgrade")) head += `Upgrade: ${protocol}\r\n`;
  return head + "Connection: Upgrade\r\n\r\n";
}

/** Formats the head of an interim response. */
export function informationalHead(
  status: number,
  headers: HeaderList | undefined,
): string {
  return statusLine(status) + (headers?.serialize() ?? "") + "\r\n";
}

/** Reports whether a response never has a body, regardless of its fields (RFC 9110 section 6.4.1). */
export function hasNoBody(
  { status }: ResponseMessage,
  method: string | undefined,
): boolean {
  return method === "HEAD" || status === NO_CONTENT || status === NOT_MODIFIED;
}

/** Sets or removes `Content-Length` according to the body. */
export function setFraming(
  response: ResponseMessage,
  method: string | undefined,
): void {
  const { status, headers, body } = response;
  headers.delete("transfer-encoding");
  const length = body === undefined ? 0 : body.length;
  const isBodiless = hasNoBody(response, method);
  if (status === NO_CONTENT || (length === undefined && !isBodiless)) {
    headers.delete("content-length");
  } else if (length !== undefined && (body !== undefined || !isBodiless)) {
    setLength(headers, length);
  }
}

/** Selects the framing (RFC 9112 section 6.3, for senders). */
function framingOf(
  response: ResponseMessage,
  method: string | undefined,
  isOld: boolean,
): OutgoingFraming {
  if (hasNoBody(response, method)) return "none";
  const { body } = response;
  if (body === undefined || body.length !== undefined) return "length";
  return isOld ? "until-close" : "chunked";
}

function setLength(headers: HeaderList, length: number): void {
  const text = String(length);
  if (headers.getJoined("content-length") !== text) {
    headers.set("content-length", text);
  }
}

function withoutTrailers(body: Body | undefined): Body | undefined {
  return body && {
    length: body.length,
    trailers: undefined,
    hasHeadroom: body.hasHeadroom ?? false,
    read: () => body.read(),
    cancel: (reason) => body.cancel(reason),
  };
}
