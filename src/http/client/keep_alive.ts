import type { ConnectionFields } from "../hop_by_hop.ts";
import { MAX_IDLE_MS } from "./connection.ts";

/** Safety margin: the next request must arrive before the upstream closes the connection. */
const MARGIN_MS = 1000;

/**
 * Returns how long the connection may be kept for another request after this response; `undefined` when it may not.
 * @param keepAlive Value of `Keep-Alive`, such as `timeout=5, max=100`.
 */
export function keepAliveMs(
  minorVersion: number,
  connection: ConnectionFields,
  keepAlive: string | undefined,
): number | undefined {
  if (connection.close) return undefined;
  if (minorVersion === 0 && !connection.keepAlive) return undefined;
  const promised = keepAlive === undefined
    ? null
    : /\btimeout=(\d{1,6})\b/i.exec(keepAlive);
  if (promised === null) return MAX_IDLE_MS;
  const keepMs = Number(promised[1]) * 1000 - MARGIN_MS;
  return keepMs > 0 ? Math.min(keepMs, MAX_IDLE_MS) : undefined;
}
