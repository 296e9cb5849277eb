import { GatewayError } from "../../../base/errors.ts";
import type { ResponseMessage } from "../../message.ts";
import type { DownstreamConnection } from "./downstream_connection.ts";
import { TunnelLimits } from "../contract/tunnel_limits.ts";
import type { Http1Request } from "./http1_request.ts";
import { switchingProtocolsHead } from "./response_head.ts";
import { splice } from "./splice.ts";

/** Status of a connection that becomes a tunnel; RFC 9110 section 15.2.2. */
export const SWITCHING_PROTOCOLS = 101;

/**
 * Responds with 101 and forwards bytes between client and upstream until both have ended.
 *
 * The connection cannot be used for HTTP afterwards.
 * @param cut Ends the tunnel when it exceeds a time limit.
 * @throws When either side fails, or there is no tunnel.
 */
export async function switchProtocols(
  downstream: DownstreamConnection,
  request: Http1Request,
  response: ResponseMessage,
  cut: (reason: GatewayError) => void,
): Promise<void> {
  const { tunnel } = response;
  if (tunnel === undefined || request.upgrade === undefined) {
    throw new GatewayError(
      "internal",
      "gateway",
      "Cannot switch protocols: nothing to switch to",
    );
  }
  const { transport, input, writer, countBytes, context } = downstream;
  input.stopReadingAhead();
  const head = switchingProtocolsHead(response, request.upgrade);
  await writer.writeMessage(head, undefined, "none");
  using limits = new TunnelLimits(context, cut);
  await splice({
    transport,
    input,
    onReceived: () => limits.moved(),
    onProgress: (bytesSent) => {
      countBytes(bytesSent);
      limits.moved();
    },
    onHalfOpen: () => limits.halfOpened(),
  }, tunnel);
}
