import type { Transport } from "../transport.ts";
import type { Connection, ConnectionContext } from "./connection.ts";
import { Http1Connection } from "./http1_connection.ts";
import type { UpstreamOptions } from "./upstream.ts";

/** Opens a connection, ready to use; rejects when it cannot, or `signal` says not to. */
export type Dialer = (
  context: ConnectionContext,
  signal: AbortSignal,
) => Promise<Connection>;

/** The way to connect to that upstream. */
export function createDialer(options: UpstreamOptions): Dialer {
  return async (context, signal) =>
    new Http1Connection(await dialTcp(options, signal), context);
}

/** Tries the addresses of the host one after the other (RFC 8305). */
async function dialTcp(
  { host, port }: UpstreamOptions,
  signal: AbortSignal,
): Promise<Transport> {
  const connection = await Deno.connect({ hostname: host, port, signal });
  // The signal would go on closing the connection after it was opened.
  if (signal.aborted) connection.close();
  return connection;
}
