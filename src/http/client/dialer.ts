import { connect } from "node:net";
import { NodeTransport } from "../node_transport.ts";
import type { Connection, ConnectionContext } from "./connection.ts";
import { Http1Connection } from "./http1/http1_client_connection.ts";
import { connectHttp2 } from "./http2/http2_client_connection.ts";
import { openSocket } from "./open_socket.ts";
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
 * side may hold back for 40 ms. HTTP/2 sessions see to that themselves.
 */
export function createDialer(options: UpstreamOptions): Dialer {
  const { host, port, protocol, tls } = options;
  if (tls !== undefined) {
    const dialTls = createTlsDialer(options, tls);
    return async (context, signal) => {
      const socket = await dialTls(signal);
      return socket.alpnProtocol === "h2"
        ? await connectHttp2(socket, context, signal)
        : new Http1Connection(new NodeTransport(socket), context);
    };
  }
  if (protocol === "http2") {
    return async (context, signal) => {
      const socket = connect({ host, port });
      await openSocket(socket, "connect", signal);
      return await connectHttp2(socket, context, signal);
    };
  }
  return async (context, signal) => {
    // Tries the addresses of the host one after the other (RFC 8305).
    const transport = await Deno.connect({ hostname: host, port, signal });
    transport.setNoDelay(true);
    return new Http1Connection(transport, context);
  };
}
