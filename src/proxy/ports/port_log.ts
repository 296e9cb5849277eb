import { formatHostPort } from "../../base/wire/host_port.ts";
import type { Log } from "../../base/log/log.ts";

/** Told which ports open and close. */
export interface PortObserver {
  /** @param addresses With the actual port. */
  opened(
    port: ObservedPort,
    addresses: readonly { readonly hostname: string; readonly port: number }[],
  ): void;
  closed(port: ObservedPort): void;
}

/** A port as configured. */
export interface ObservedPort {
  readonly port: number;
  readonly protocol: "HTTP" | "HTTPS";
}

/** A port that has opened, with its addresses, or closed. */
export type PortEvent =
  & ObservedPort
  & { readonly addresses?: Parameters<PortObserver["opened"]>[1] };

/** Records events for an observer in another thread. */
export class PortRecord implements PortObserver {
  readonly #events: PortEvent[] = [];

  opened(port: ObservedPort, addresses: Parameters<PortObserver["opened"]>[1]) {
    this.#events.push({ ...port, addresses });
  }

  closed(port: ObservedPort) {
    this.#events.push(port);
  }

  /** Returns the events since the last call. */
  take(): readonly PortEvent[] {
    return this.#events.splice(0);
  }
}

/** Reports recorded events to an observer. */
export function replayPorts(
  events: readonly PortEvent[],
  observer: PortObserver,
): void {
  for (const { port, protocol, addresses } of events) {
    if (addresses === undefined) observer.closed({ port, protocol });
    else observer.opened({ port, protocol }, addresses);
  }
}

/** Logs which ports open and close. */
export function createPortLog(log: Log): PortObserver {
  return {
    opened({ port, protocol }, addresses) {
      const address = addresses.map(({ hostname, port }) =>
        formatHostPort(hostname, port)
      ).join(" ");
      log.info("Listening", { address, port, protocol });
    },
    closed: ({ port }) => log.info("Port closed", { port }),
  };
}
