import { claimAddress } from "../../http/server/accept/claim_address.ts";
import type { HttpServer } from "../../http/server/http_server.ts";
import type { Port } from "../../snapshot/snapshot.ts";
import { addressOf, tlsOf } from "./server_settings.ts";

/** A port that cannot be opened. */
export class PortError extends Error {
  override readonly name = "PortError";

  /** @param place The port as configured. */
  constructor(
    readonly place: Pick<Port, "port" | "address">,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Starts the server on a port.
 * @param reusePort Shares the port with other sockets that do the same.
 * @throws {PortError} Such as `Cannot listen on port 80: permission denied`.
 */
export async function openPort(
  server: HttpServer,
  port: Port,
  reusePort: boolean,
): Promise<void> {
  try {
    await server.start(addressOf(port, reusePort), port.tls && tlsOf(port.tls));
  } catch (cause) {
    throw portError(port, cause);
  }
}

/**
 * Reserves the address of a port, so that only this process shares it: call it once before several threads open the port
 * with `reusePort`. Another process that reserves it fails as long as one of them listens.
 * @returns The port to open: a free one in place of 0.
 * @throws {PortError} When another process listens.
 */
export async function claimPort(
  port: Pick<Port, "port" | "address">,
): Promise<number> {
  try {
    return await claimAddress(addressOf(port));
  } catch (cause) {
    throw portError(port, cause);
  }
}

/** Describes why a port cannot be opened. */
function portError(
  port: Pick<Port, "port" | "address">,
  cause: unknown,
): PortError {
  const reason = reasonOf(cause);
  const place = port.address === undefined
    ? `port ${port.port}`
    : `port ${port.port} of ${port.address}`;
  return reason === undefined
    ? new PortError(port, `Cannot listen on ${place}`, { cause })
    : new PortError(port, `Cannot listen on ${place}: ${reason}`);
}

const reasons: ReadonlyMap<unknown, string> = new Map([
  [
    "EADDRINUSE",
    "address already in use; stop the other program or select another port",
  ],
  ["EADDRNOTAVAIL", "this machine does not have the address"],
  ["EACCES", "permission denied"],
]);

function reasonOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error
    ? reasons.get(error.code)
    : undefined;
}
