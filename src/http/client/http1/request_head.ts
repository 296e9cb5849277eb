import type { Body } from "../../body.ts";
import { HeaderList } from "../../header_list.ts";
import type { OutgoingFraming } from "../../http1/message_writer.ts";
import type { UpstreamRequest } from "../upstream.ts";

/** Methods whose requests usually have content; without content, they declare it (RFC 9110 section 8.6). */
const contentMethods: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Formats the HTTP/1.1 head of a request and selects the framing of its body. */
export function requestHead(
  request: UpstreamRequest,
  body: Body | undefined,
): { readonly text: string; readonly framing: OutgoingFraming } {
  const { method, target, authority, upgrade } = request;
  const headers = withFraming(request, body);
  let text =
    `${method} ${target} HTTP/1.1\r\nHost: ${authority}\r\n${headers.serialize()}`;
  if (upgrade !== undefined) {
    text += `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`;
  }
  if (request.expectsContinue && body !== undefined && !headers.has("expect")) {
    text += "Expect: 100-continue\r\n";
  }
  return { text: text + "\r\n", framing: framingOf(body) };
}

function framingOf(body: Body | undefined): OutgoingFraming {
  if (body === undefined) return "none";
  return body.length === undefined ? "chunked" : "length";
}

/** Returns the request's fields with correct framing fields; the same list if they are correct already. */
function withFraming(
  { method, headers }: UpstreamRequest,
  body: Body | undefined,
): HeaderList {
  const length = lengthField(method, body);
  const isCorrect = headers.getJoined("content-length") === length &&
    !headers.has("transfer-encoding");
  if (isCorrect && framingOf(body) !== "chunked") return headers;
  const framed = headers.copy();
  framed.delete("transfer-encoding");
  framed.delete("content-length");
  if (length !== undefined) framed.append("Content-Length", length);
  if (framingOf(body) === "chunked") {
    framed.append("Transfer-Encoding", "chunked");
  }
  return framed;
}

function lengthField(
  method: string,
  body: Body | undefined,
): string | undefined {
  if (body !== undefined) return body.length?.toString();
  return contentMethods.has(method) ? "0" : undefined;
}
