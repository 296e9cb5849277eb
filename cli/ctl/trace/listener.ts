import {
  type AdminAddress,
  AdminError,
  nameOf,
  readAdmin,
  unexpectedResponse,
} from "../../client/admin_client.ts";
import { Failure } from "../../process/exit.ts";
import { objectAt, valueAt } from "../../../src/base/json.ts";

/** A port of a gateway. */
export interface ListenerPort {
  readonly gateway: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** Lists the listeners of a running gateway from its configuration dump. */
export async function listListeners(
  address: AdminAddress,
): Promise<readonly ListenerPort[]> {
  const dump = await readAdmin(address, "/config_dump", "listeners").catch(
    (error) => {
      if (!(error instanceof AdminError) || error.status !== 404) throw error;
      throw unexpectedResponse(
        nameOf(address),
        "it has no /config_dump",
        error.hint,
      );
    },
  );
  const listeners = valueAt(dump, "listeners");
  if (!Array.isArray(listeners)) {
    throw new Failure(
      'Cannot find the listeners: expected a list of "listeners" in /config_dump',
    );
  }
  return listeners.flatMap((listener) => {
    const { gatewayName, port, protocol } = objectAt(listener);
    if (typeof gatewayName !== "string" || typeof port !== "number") return [];
    const isTls = protocol === "HTTPS" || protocol === "TLS";
    return [{ gateway: gatewayName, port, isTls }];
  });
}

/**
 * Selects the listeners of a gateway and port; `undefined` selects all.
 * @throws {Failure} When there is none.
 */
export function selectListeners(
  listeners: readonly ListenerPort[],
  gateway: string | undefined,
  port: number | undefined,
): readonly ListenerPort[] {
  const ofGateway = listeners.filter((listener) =>
    gateway === undefined || listener.gateway === gateway
  );
  if (ofGateway.length === 0) {
    const names = new Set(listeners.map(({ gateway }) => gateway));
    throw new Failure(
      gateway === undefined
        ? "Cannot trace: the running configuration has no gateway"
        : `Cannot find gateway "${gateway}": expected one of ${
          quote([...names])
        }`,
    );
  }
  const selected = ofGateway.filter((listener) =>
    port === undefined || listener.port === port
  );
  if (selected.length > 0) return selected;
  throw new Failure(
    `Cannot trace port ${port}: no listener uses it, expected one of ${
      portsOf(ofGateway).join(", ")
    }; -p selects the admin port`,
  );
}

/**
 * Selects the port for a URL: the only one for its protocol, or the one in the URL.
 * @throws {Failure} When no port matches.
 */
export function choosePort(
  listeners: readonly ListenerPort[],
  url: string,
): number {
  const { protocol, port: portOfUrl } = new URL(url);
  const ports = portsOf(
    listeners.filter(({ isTls }) => isTls === (protocol === "https:")),
  );
  const [port, second] = ports;
  if (port === undefined) {
    const other = protocol === "https:" ? "http" : "https";
    throw new Failure(
      `Cannot send the request: the listener of port ${
        portsOf(listeners).join(", ")
      } uses ${other}, but the URL ${protocol.slice(0, -1)}`,
    );
  }
  if (second === undefined) return port;
  const named = Number(portOfUrl);
  if (ports.includes(named)) return named;
  throw new Failure(
    `Several listeners match; select one with --port ${
      ports.join(" or --port ")
    }`,
  );
}

function portsOf(listeners: readonly ListenerPort[]): readonly number[] {
  return [...new Set(listeners.map(({ port }) => port))];
}

function quote(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
