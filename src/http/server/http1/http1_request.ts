import { requestFraming } from "../../http1/framing.ts";
import type { RequestHead } from "../../http1/head_parser.ts";
import {
  type ConnectionFields,
  takeConnectionFields,
} from "../../hop_by_hop.ts";
import {
  ClientRequest,
  type InformationalSender,
} from "../contract/client_request.ts";
import { resolveTarget } from "../contract/request_target.ts";
import type { Client } from "../contract/server_options.ts";
import { expectsContinue } from "./expectation.ts";

/** An HTTP/1.x request. */
export class Http1Request extends ClientRequest {
  /** Framing of the body; 0 without a body. */
  readonly framing: number | "chunked";
  /** The client may send another request on the connection. */
  readonly persists: boolean;

  /**
   * Interprets a head and consumes it.
   * @throws {HttpSyntaxError} When the framing is ambiguous.
   * @throws {GatewayError} When the request violates HTTP otherwise.
   */
  constructor(head: RequestHead, client: Client, sender: InformationalSender) {
    const { headers, method, minorVersion } = head;
    const { authority, target } = resolveTarget(head);
    const framing = requestFraming(headers, minorVersion);
    // HTTP/1.0 has no expectations.
    const expects = minorVersion === 1 && expectsContinue(headers);
    headers.delete("host");
    const fields = takeConnectionFields(headers);
    const facts = {
      version: minorVersion === 0 ? "1.0" : "1.1",
      method,
      sentMethod: method,
      authority,
      target,
      headers,
      upgrade: framing === 0 ? offeredUpgrade(head, fields) : undefined,
      expectsContinue: expects,
      acceptsTrailers: fields.acceptsTrailers,
    } as const;
    super(facts, client, sender);
    this.framing = framing;
    this.persists = !fields.close && (minorVersion === 1 || fields.keepAlive);
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
