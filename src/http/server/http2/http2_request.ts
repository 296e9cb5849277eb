import { Cancellation } from "../../../base/cancellation.ts";
import type { Body } from "../../body.ts";
import { isFieldName, isFieldValue } from "../../field_syntax.ts";
import { requestFraming } from "../../http1/framing.ts";
import { HeaderList } from "../../header_list.ts";
import type { RequestMessage } from "../../message.ts";
import type { Peer } from "../../transport.ts";
import type { Client } from "../server_options.ts";
import { expectsContinue } from "../http1/expectation.ts";
import { isConnectionSpecific } from "./http2_server_fields.ts";
import type { InformationalSender } from "../http1/http1_request.ts";
import type { RefusedRequest } from "../observer.ts";
import { badRequest, tunnelRefused } from "../request_error.ts";
import { isAuthority, isTarget } from "../request_target.ts";

/** A request of HTTP/2. */
export class Http2Request implements RequestMessage {
  readonly version = "2";
  method: string;
  scheme: string;
  authority: string;
  target: string;
  headers: HeaderList;
  body: Body | undefined;
  readonly upgrade = undefined;
  readonly expectsContinue: boolean;
  readonly source: Peer;
  readonly serverName: string | undefined;
  readonly cancellation = new Cancellation();
  handledBy: unknown;
  readonly sentMethod: string;
  /** Length that the client announced. */
  readonly contentLength: number | undefined;
  readonly acceptsTrailers: boolean;
  readonly #sender: InformationalSender;

  /**
   * @param fields Name, value, name, value…, the pseudo-header fields first.
   * @throws {GatewayError | HttpSyntaxError} When the request is malformed (RFC 9113 section 8).
   */
  constructor(
    fields: readonly string[],
    client: Client,
    sender: InformationalSender,
  ) {
    const { pseudo, headers } = readFields(fields);
    this.method = this.sentMethod = pseudo.get(":method") ?? "";
    if (this.method === "CONNECT") throw tunnelRefused();
    this.target = pseudo.get(":path") ?? "";
    if (!isFieldName(this.method) || !isTarget(this.method, this.target)) {
      throw badRequest("Cannot read the request target");
    }
    this.scheme = client.scheme;
    this.authority = authorityOf(pseudo.get(":authority"), headers);
    this.contentLength = headers.has("content-length")
      ? Number(requestFraming(headers, 1))
      : undefined;
    this.acceptsTrailers = headers.has("te");
    this.expectsContinue = expectsContinue(headers);
    headers.delete("te");
    headers.delete("host");
    this.headers = headers;
    this.source = client.peer;
    this.serverName = client.serverName;
    this.#sender = sender;
  }

  sendInformational(status: number, headers: HeaderList): void {
    this.#sender.sendInformational(status, headers);
  }
}

/** What can be told of a header block that was refused. */
export function describeFields(
  fields: readonly string[],
): Pick<RefusedRequest, "version" | "method" | "authority" | "target"> {
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

/** Fields of a header block; the crumbs of a cookie put together (RFC 9113 section 8.2.3). */
function readFields(
  fields: readonly string[],
): { pseudo: Map<string, string>; headers: HeaderList } {
  const pseudo = new Map<string, string>();
  const headers = new HeaderList();
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? "";
    const value = fields[i + 1] ?? "";
    if (name.startsWith(":")) pseudo.set(name, value);
    else if (name === "cookie" && headers.has("cookie")) {
      headers.set("cookie", `${headers.get("cookie")}; ${value}`);
    } else {
      expectField(name, value);
      headers.append(name, value);
    }
  }
  return { pseudo, headers };
}

function expectField(name: string, value: string): void {
  if (
    isConnectionSpecific(name) ||
    (name === "te" && value.toLowerCase() !== "trailers")
  ) throw badRequest(`Cannot accept "${name}" in HTTP/2`);
  if (!isFieldName(name) || !isFieldValue(value)) {
    throw badRequest("Cannot read a header: it holds a forbidden character");
  }
}

/** `Host` may stand beside `:authority` if it says the same. */
function authorityOf(
  authority: string | undefined,
  headers: HeaderList,
): string {
  const host = headers.get("host");
  if (headers.count("host") > 1) {
    throw badRequest("Cannot accept two Host headers");
  }
  if (
    authority !== undefined && host !== undefined &&
    authority.toLowerCase() !== host.toLowerCase()
  ) throw badRequest("Cannot accept a Host that differs from :authority");
  const named = authority ?? host ?? "";
  if (!isAuthority(named)) {
    throw badRequest("Cannot read the authority of the request");
  }
  return named;
}
