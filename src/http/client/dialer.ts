import { NodeTransport } from "../node_transport.ts";
import type { Connection, ConnectionContext } from "./connection.ts";
import { Http1Connection } from "./http1/http1_client_connection.ts";
import { connectHttp2 } from "./http2/http2_client_connection.ts";
import { createTlsDialer } from "./tls_client.ts";
import type { UpstreamOptions } from "./upstream.ts";

/** Opens a connection, ready to use; rejects when it cannot, or `signal` says not to. */
export type Dialer = (
  context: ConnectionContext,
  signal: AbortSignal,
) => Promise<Connection>;

/**
 * The way to connect to that upstream; which protocol it speaks may turn out on each connection.
 *
 * What is written is sent at once: a system that waits for the rest of a packet waits for an acknowledgement, which the other
 * side may hold back for 40 ms.
 */
export function createDialer(options: UpstreamOptions): Dialer {
  const { host, port, protocol, tls } = options;
  if (tls !== undefined) {
    const dialTls = createTlsDialer(options, tls);
    return async (context, signal) => {
      const socket = await dialTls(signal);
      const transport = new NodeTransport(socket);
      return socket.alpnProtocol === "h2"
        ? await connectHttp2(transport, context, signal)
        : new Http1Connection(transport, context);
    };
  }
  return async (context, signal) => {
    // Tries the addresses of the host one after the other (RFC 8305).
    const transport = await Deno.connect({ hostname: host, port, signal });
    transport.setNoDelay(true);
    return protocol === "http2"
      ? await connectHttp2(transport, context, signal)
      : new Http1Connection(transport, context);
  };
}
