import { Cancellation } from "../../../base/cancellation.ts";
import type { Body } from "../../body.ts";
import { requestFraming } from "../../http1/framing.ts";
import type { RequestHead } from "../../http1/head_parser.ts";
import type { HeaderList } from "../../header_list.ts";
import {
  type ConnectionFields,
  takeConnectionFields,
} from "../../hop_by_hop.ts";
import type { RequestMessage } from "../../message.ts";
import type { Peer } from "../../transport.ts";
import { expectsContinue } from "./expectation.ts";
import type { Client } from "../server_options.ts";
import { type RequestTarget, resolveTarget } from "../request_target.ts";

/** Sends interim responses for a request. */
export interface InformationalSender {
  sendInformational(status: number, headers: HeaderList): void;
}

/** An HTTP/1.x request with the fields that its connection needs. */
export class Http1Request implements RequestMessage {
  readonly version: "1.0" | "1.1";
  method: string;
  scheme: string;
  authority: string;
  target: string;
  headers: HeaderList;
  body: Body | undefined;
  readonly upgrade: string | undefined;
  readonly expectsContinue: boolean;
  readonly source: Peer;
  readonly serverName: string | undefined;
  readonly cancellation = new Cancellation();
  handledBy: unknown;
  /** The original method, which determines the framing of the response. */
  readonly sentMethod: string;
  /** Framing of the body; 0 without a body. */
  readonly framing: number | "chunked";
  readonly acceptsTrailers: boolean;
  /** The client may send another request on the connection. */
  readonly persists: boolean;
  readonly #sender: InformationalSender;

  /**
   * Interprets a head and consumes it.
   * @throws {HttpSyntaxError} When the framing is ambiguous.
   * @throws {GatewayError} When the request violates HTTP otherwise.
   */
  constructor(head: RequestHead, client: Client, sender: InformationalSender) {
    const { headers } = head;
    const resolved: RequestTarget = resolveTarget(head);
    this.framing = requestFraming(headers, head.minorVersion);
    // HTTP/1.0 has no expectations.
    this.expectsContinue = head.minorVersion === 1 && expectsContinue(headers);
    headers.delete("host");
    const fields = takeConnectionFields(headers);
    this.version = head.minorVersion === 0 ? "1.0" : "1.1";
    this.method = this.sentMethod = head.method;
    this.scheme = client.scheme;
    this.authority = resolved.authority;
    this.target = resolved.target;
    this.headers = headers;
    this.acceptsTrailers = fields.acceptsTrailers;
    this.upgrade = this.framing === 0
      ? offeredUpgrade(head, fields)
      : undefined;
    this.persists = !fields.close &&
      (head.minorVersion === 1 || fields.keepAlive);
    this.source = client.peer;
    this.serverName = client.serverName;
    this.#sender = sender;
  }

  sendInformational(status: number, headers: HeaderList): void {
    this.#sender.sendInformational(status, headers);
  }
}

/** Returns the requested protocol, but never `h2c`: requests to a backend that accepts it would bypass all policies. */
function offeredUpgrade(
  head: RequestHead,
  fields: ConnectionFields,
): string | undefined {
  if (head.minorVersion === 0 || fields.upgrade === undefined) return undefined;
  return /(?:^|[\s,])h2c?(?:$|[\s,/])/i.test(fields.upgrade)
    ? undefined
    : fields.upgrade;
}
