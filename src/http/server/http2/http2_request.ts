import { randomBytes } from "node:crypto";
import { isFieldName } from "../../field_syntax.ts";
import type { HeaderList } from "../../header_list.ts";
import { requestFraming } from "../../http1/framing.ts";
import { HttpSyntaxError } from "../../http1/http_syntax_error.ts";
import type { FieldBlock } from "../../http2/hpack/header_decoder.ts";
import { readRequestFields } from "../../http2/message_fields.ts";
import {
  ClientRequest,
  type InformationalSender,
} from "../contract/client_request.ts";
import type { Client } from "../contract/server_options.ts";
import { expectsContinue } from "../http1/expectation.ts";
import type { RejectedRequest } from "../contract/observer.ts";
import { badRequest, connectNotSupported } from "../contract/request_error.ts";
import { isAuthority, isTarget } from "../contract/request_target.ts";

/** An HTTP/2 request. */
export class Http2Request extends ClientRequest {
  /** Length that the client announced. */
  readonly contentLength: number | undefined;

  /**
   * Interprets the header block of the stream.
   * @throws {Http2StreamError} When the request is malformed (RFC 9113 section 8.1.1).
   * @throws {GatewayError | HttpSyntaxError} If it is well-formed, and is rejected with a response.
   */
  constructor(
    streamId: number,
    block: FieldBlock,
    client: Client,
    sender: InformationalSender,
  ) {
    if (block.isTooLarge) {
      throw new HttpSyntaxError(
        "too_large",
        "Cannot accept the request: its headers are too many or too large",
      );
    }
    const fields = readRequestFields(streamId, block);
    const { headers, method, path, protocol } = fields;
    if (method === "CONNECT" && protocol !== "websocket") {
      throw connectNotSupported();
    }
    if (!isFieldName(method) || !isTarget(method, path)) {
      throw badRequest("Cannot read the request target");
    }
    if (protocol !== undefined) addWebSocketKey(headers);
    const authority = authorityOf(fields.authority, headers);
    const contentLength = headers.has("content-length")
      ? Number(requestFraming(headers, 1))
      : undefined;
    const expects = expectsContinue(headers);
    const acceptsTrailers = headers.has("te");
    if (acceptsTrailers) headers.delete("te");
    const facts = {
      version: "2",
      method: protocol === undefined ? method : "GET",
      sentMethod: method,
      authority,
      target: path,
      headers,
      upgrade: protocol,
      expectsContinue: expects,
      acceptsTrailers,
    } as const;
    super(facts, client, sender);
    this.contentLength = contentLength;
  }

  /** Messages of its stream may be far apart: one of gRPC is as slow as what it is about. */
  get isGrpc(): boolean {
    const type = this.headers.get("content-type") ?? "";
    return /^application\/grpc(?:\+|;|\s|$)/i.test(type);
  }
}

/** Describes a header block that was rejected. */
export function describeFields(
  fields: readonly string[],
): Pick<RejectedRequest, "version" | "method" | "authority" | "target"> {
  const valueOf = (name: string) => {
    const index = fields.indexOf(name);
    return index < 0 ? "" : fields[index + 1] ?? "";
  };
  return {
    version: "2",
    method: valueOf(":method"),
    authority: valueOf(":authority"),
    target: valueOf(":path"),
  };
}

/** Adds the key that HTTP/1.1 backends expect, and that HTTP/2 does not have (RFC 8441 section 5). */
function addWebSocketKey(headers: HeaderList): void {
  headers.set("sec-websocket-key", randomBytes(16).toString("base64"));
}

/** Returns the authority, and removes `Host`, which must equal `:authority`. */
function authorityOf(
  authority: string | undefined,
  headers: HeaderList,
): string {
  const host = headers.get("host");
  if (host !== undefined) {
    if (headers.count("host") > 1) {
      throw badRequest("Cannot accept two Host headers");
    }
    if (
      authority !== undefined && authority.toLowerCase() !== host.toLowerCase()
    ) throw badRequest("Cannot accept a Host that differs from :authority");
    headers.delete("host");
  }
  const named = authority ?? host ?? "";
  if (!isAuthority(named)) {
    throw badRequest("Cannot read the authority of the request");
  }
  return named;
}
