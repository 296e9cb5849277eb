import { connectWithin } from "../../../base/wire/egress_policy.ts";
import { NodeTransport } from "../../node_transport.ts";
import type { Connection, ConnectionContext } from "../connection.ts";
import { Http1ClientConnection } from "../http1/http1_client_connection.ts";
import { connectHttp2 } from "../http2/http2_client_connection.ts";
import { createTlsDialer } from "../tls_client.ts";
import type { UpstreamOptions } from "../upstream.ts";

/** Opens a connection; rejects on failure or when `signal` aborts. */
export type Dialer = (
  context: ConnectionContext,
  signal: AbortSignal,
) => Promise<Connection>;

/**
 * Creates the dialer of an upstream; with TLS, each connection negotiates its protocol.
 *
 * Disables Nagle's algorithm: with it, small writes wait for an acknowledgement, which the peer may delay by 40 ms.
 */
export function createDialer(options: UpstreamOptions): Dialer {
  const { port, protocol, tls, egress } = options;
  if (tls !== undefined) {
    const dialTls = createTlsDialer(options, tls);
    return async (context, signal) => {
      const socket = await connectWithin(
        egress,
        options,
        signal,
        (host) => dialTls(host, signal),
      );
      const transport = new NodeTransport(socket);
      return socket.alpnProtocol === "h2"
        ? await connectHttp2(transport, context, signal)
        : new Http1ClientConnection(transport, context);
    };
  }
  return async (context, signal) => {
    const transport = await connectWithin(
      egress,
      options,
      signal,
      // Tries the addresses of a name in turn (RFC 8305).
      (hostname) => Deno.connect({ hostname, port, signal }),
    );
    transport.setNoDelay(true);
    return protocol === "http2"
      ? await connectHttp2(transport, context, signal)
      : new Http1ClientConnection(transport, context);
  };
}
