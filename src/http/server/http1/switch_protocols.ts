import { GatewayError } from "../../../base/errors.ts";
import type { ResponseMessage } from "../../message.ts";
import type { ClientLink } from "../downstream_connection.ts";
import type { Http1Request } from "./http1_request.ts";
import { switchingProtocolsHead } from "./response_head.ts";
import { splice } from "./splice.ts";

/** Status of a connection that becomes a tunnel; RFC 9110 section 15.2.2. */
export const SWITCHING_PROTOCOLS = 101;

/**
 * Answers with a 101 and lets client and upstream talk to each other until both ended.
 *
 * Uses up the connection.
 * @throws When either side breaks off, or there is nothing to switch to.
 */
export async function switchProtocols(
  link: ClientLink,
  request: Http1Request,
  response: ResponseMessage,
): Promise<void> {
  const { tunnel } = response;
  if (tunnel === undefined || request.upgrade === undefined) {
    throw new GatewayError(
      "internal",
      "gateway",
      "Cannot switch protocols: nothing to switch to",
    );
  }
  const { transport, input, writer, countBytes, context } = link;
  input.stopReadingAhead();
  const head = switchingProtocolsHead(response, request.upgrade);
  await writer.writeMessage(head, undefined, "none");
  let stopTimer: (() => void) | undefined;
  const onHalfOpen = () => {
    stopTimer ??= context.clock.setTimer(
      () => {
        link.close();
        tunnel.transport.close();
      },
      context.limits.halfOpenTunnelMs,
    );
  };
  try {
    await splice(
      { transport, input, onProgress: countBytes, onHalfOpen },
      tunnel,
    );
  } finally {
    stopTimer?.();
  }
}
