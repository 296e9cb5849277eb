import { NodeTransport } from "../node_transport.ts";
import type { Connection, ConnectionContext } from "./connection.ts";
import { Http1ClientConnection } from "./http1/http1_client_connection.ts";
import { connectHttp2 } from "./http2/http2_client_connection.ts";
import { createTlsDialer } from "./tls_client.ts";
import type { UpstreamOptions } from "./upstream.ts";

/** Opens a connection; rejects on failure or when `signal` aborts. */
export type Dialer = (
  context: ConnectionContext,
  signal: AbortSignal,
) => Promise<Connection>;

const loopback = /^(?:(?:::ffff:)?127\.|::1$)/i;

/** @throws {Error} When the peer is on this machine; its connection is closed then. */
function assertRemote(
  address: string | undefined,
  connection: { destroy(): void },
): void {
  if (address !== undefined && !loopback.test(address)) return;
  connection.destroy();
  throw new Error("A backend of a cluster cannot be on the loopback interface");
}

/**
 * Creates the dialer of an upstream; with TLS, each connection negotiates its protocol.
 *
 * Disables Nagle's algorithm: with it, small writes wait for an acknowledgement, which the peer may delay by 40 ms.
 */
export function createDialer(options: UpstreamOptions): Dialer {
  const { host, port, protocol, tls, loopbackPorts = [] } = options;
  const forbidsLoopback = options.forbidsLoopback === true &&
    !loopbackPorts.includes(port);
  if (tls !== undefined) {
    const dialTls = createTlsDialer(options, tls);
    return async (context, signal) => {
      const socket = await dialTls(signal);
      if (forbidsLoopback) assertRemote(socket.remoteAddress, socket);
      const transport = new NodeTransport(socket);
      return socket.alpnProtocol === "h2"
        ? await connectHttp2(transport, context, signal)
        : new Http1ClientConnection(transport, context);
    };
  }
  return async (context, signal) => {
    // Tries the addresses of the host in turn (RFC 8305).
    const transport = await Deno.connect({ hostname: host, port, signal });
    if (forbidsLoopback) {
      assertRemote(transport.remoteAddr.hostname, {
        destroy: () => transport.close(),
      });
    }
    transport.setNoDelay(true);
    return protocol === "http2"
      ? await connectHttp2(transport, context, signal)
      : new Http1ClientConnection(transport, context);
  };
}
