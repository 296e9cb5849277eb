import type { OutgoingHttpHeaders } from "node:http2";
import type { Body } from "../../body.ts";
import { isFieldName, isFieldValue } from "../../field_syntax.ts";
import { responseFraming } from "../../http1/framing.ts";
import { HeaderList } from "../../header_list.ts";
import { fieldsByName } from "../../http2/http2_fields.ts";
import { malformed } from "../../http1/http_syntax_error.ts";
import type { UpstreamRequest } from "../upstream.ts";

/** A request's pseudo-header fields and fields, as `node:http2` takes them. */
export function requestFields(
  request: UpstreamRequest,
  body: Body | undefined,
  scheme: "http" | "https",
): OutgoingHttpHeaders {
  const fields = fieldsByName(request.headers);
  delete fields["content-length"];
  if (body?.length !== undefined) {
    fields["content-length"] = String(body.length);
  }
  if (request.expectsContinue) fields["expect"] = "100-continue";
  else delete fields["expect"];
  // We pass trailers on, and gRPC servers insist on hearing that.
  fields["te"] = "trailers";
  return {
    ":method": request.method,
    ":scheme": scheme,
    ":authority": request.authority,
    ":path": request.target,
    ...fields,
  };
}

/** The status in `[":status", "200", …]`. */
export function statusOf(raw: readonly string[]): number {
  const index = raw.indexOf(":status");
  const status = Number(raw[index + 1]);
  if (index < 0 || !(status >= 100 && status <= 999)) {
    throw malformed("Cannot read the status code");
  }
  return status;
}

/**
 * The fields in `[name, value, …]` without pseudo-header fields.
 * @throws {HttpSyntaxError} When one could not be sent in HTTP/1.1.
 */
export function fieldsOf(raw: readonly string[]): HeaderList {
  const headers = new HeaderList();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? "";
    const value = raw[i + 1] ?? "";
    if (name.startsWith(":")) continue;
    if (!isFieldName(name) || !isFieldValue(value)) {
      throw malformed("Cannot read a header field");
    }
    headers.append(name, value);
  }
  return headers;
}

/** The length that the response states. */
export function contentLengthOf(headers: HeaderList): number | undefined {
  const framing = responseFraming(headers, 200, "GET", 1);
  return typeof framing === "number" ? framing : undefined;
}
