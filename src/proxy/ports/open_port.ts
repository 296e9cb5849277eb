import type { HttpServer } from "../../http/server/http_server.ts";
import type { Port } from "../../snapshot/snapshot.ts";
import { addressOf, tlsOf } from "./server_settings.ts";

/** A port that cannot be opened. */
export class PortError extends Error {
  override readonly name = "PortError";

  /** @param port As configured. */
  constructor(readonly port: number, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/**
 * Starts the server on a port.
 * @throws {PortError} Such as `Cannot listen on port 80: permission denied`.
 */
export async function openPort(server: HttpServer, port: Port): Promise<void> {
  try {
    await server.start(addressOf(port), port.tls && tlsOf(port.tls));
  } catch (cause) {
    const reason = reasonOf(cause);
    const place = port.address === undefined
      ? `port ${port.port}`
      : `port ${port.port} of ${port.address}`;
    throw reason === undefined
      ? new PortError(port.port, `Cannot listen on ${place}`, { cause })
      : new PortError(port.port, `Cannot listen on ${place}: ${reason}`);
  }
}

const reasons: ReadonlyMap<unknown, string> = new Map([
  ["EADDRINUSE", "address already in use"],
  ["EADDRNOTAVAIL", "this machine does not have the address"],
  ["EACCES", "permission denied"],
]);

function reasonOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error
    ? reasons.get(error.code)
    : undefined;
}
