import { addressesOverlap } from "../../base/wire/bind_address.ts";
import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import type { ClientRegister } from "../../http/server/contract/client_counts.ts";
import type { ServerObserver } from "../../http/server/contract/observer.ts";
import type { OpenConnection } from "../../http/server/contract/open_connection.ts";
import type { ServerLimits } from "../../http/server/contract/server_options.ts";
import { HttpServer } from "../../http/server/http_server.ts";
import type { Port, PortId } from "../../snapshot/snapshot.ts";
import type { Pipeline } from "../pipeline.ts";
import { respondToError } from "../request/respond.ts";
import { openPort } from "./open_port.ts";
import type { ObservedPort, PortObserver } from "./port_log.ts";
import { limitsOf, tlsOf } from "./server_settings.ts";

/** Dependencies of the listeners. */
export interface ListenersOptions {
  readonly pipeline: Pipeline;
  readonly clock: Clock;
  readonly log: Log;
  /** Creates the observer of a port: events other than requests. */
  readonly observe: (port: PortId) => ServerObserver;
  /** Limits of every port; a port may set its own timeouts and connections. */
  readonly limits: Pick<ServerLimits, "maxHeaderBytes" | "maxHeaderCount">;
  readonly portObserver: PortObserver;
  /** Returns where the connections of a port are counted; by default, by its server. */
  readonly clientsOf?: ((port: PortId) => ClientRegister) | undefined;
  /** Shares each port with other sockets that do the same: of other threads, or of other processes. */
  readonly reusePort: boolean;
}

/** A port that is open. */
interface OpenPort {
  readonly server: HttpServer;
  readonly port: Port;
}

/** A port of a configuration that is not in force yet. */
export interface PlannedPort extends PortId {
  /**
   * `kept`: its socket stays. `new`: it is opened. `held`: it is opened in place of a socket of this process, at another address
   * or for the other of HTTP and HTTPS.
   */
  readonly socket: "kept" | "new" | "held";
}

/** Ports that are open but not in force; exactly one of the functions ends this state. */
export interface PreparedPorts {
  /** Adopts all settings, serves the requests that wait, and drains the ports that are gone. */
  adopt(): void;
  /** Closes the new ports. */
  abandon(): Promise<void>;
}

/** The connections of a port. */
export interface PortConnections {
  /** As configured. */
  readonly port: number;
  readonly state: "accepting" | "draining";
  readonly open: Iterable<OpenConnection>;
}

/** Requests under way when the gateway stopped: how many finished, and how many were cut. */
export interface DrainCounts {
  readonly drained: number;
  readonly cut: number;
}

/** The open ports. A port that stays in the configuration keeps its socket and its connections. */
export class Listeners {
  readonly #options: ListenersOptions;
  /** By `Port.key`. */
  readonly #open = new Map<string, OpenPort>();
  /** The port that each server had. */
  readonly #draining = new Map<HttpServer, number>();

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  /** Lists the addresses that accept connections. */
  addresses(): {
    configuredPort: number;
    isTls: boolean;
    hostname: string;
    port: number;
  }[] {
    return [...this.#open.values()].flatMap(({ server, port }) =>
      server.addresses.map((address) => ({
        configuredPort: port.port,
        isTls: port.tls !== undefined,
        ...address,
      }))
    );
  }

  /** Returns the connection counts by configured port, which may be open at several addresses. */
  stats(): { port: number; active: number; accepted: number; max: number }[] {
    const counts = new Map<
      number,
      { port: number; active: number; accepted: number; max: number }
    >();
    for (const { server, port: { port } } of this.#open.values()) {
      const { active, accepted } = server.connections;
      const sum = counts.get(port) ?? { port, active: 0, accepted: 0, max: 0 };
      sum.active += active;
      sum.accepted += accepted;
      sum.max += server.maxConnections;
      counts.set(port, sum);
    }
    return [...counts.values()];
  }

  /** Requests of all ports whose responses are not delivered yet. */
  get requestsUnderWay(): number {
    return this.#options.pipeline.underWay;
  }

  /** Lists the connections of every port, draining ones included. */
  *connections(): Iterable<PortConnections> {
    for (const { server: { open }, port: { port } } of this.#open.values()) {
      yield { port, state: "accepting", open };
    }
    for (const [{ open }, port] of this.#draining) {
      yield { port, state: "draining", open };
    }
  }

  /** Returns what `prepare` will do. */
  plan(ports: readonly Port[]): PlannedPort[] {
    return ports.map((port) => {
      const { key, address } = port;
      return {
        key,
        address,
        port: port.port,
        socket: this.#socketOf(port),
      };
    });
  }

  /**
   * Opens new ports; requests on them wait.
   * @param claimed Port numbers to open in place of those of the configuration, by `Port.key`.
   * @throws When a port cannot be opened or its certificates cannot be read; then nothing has changed.
   */
  async prepare(
    ports: readonly Port[],
    claimed: ReadonlyMap<string, number> = new Map(),
  ): Promise<PreparedPorts> {
    await using undo = new AsyncDisposableStack();
    const adoptions: (() => void)[] = [];
    for (const port of ports) {
      adoptions.push(await this.#preparePort(port, claimed, undo));
    }
    const opened = undo.move();
    return {
      adopt: () => {
        this.#closeAllBut(new Set(ports.map(({ key }) => key)));
        for (const adopt of adoptions) adopt();
      },
      abandon: () => opened.disposeAsync(),
    };
  }

  /** Ends each connection after its next response, and goes on accepting. */
  leave(): void {
    for (const { server } of this.#open.values()) server.leave();
  }

  /** Lets requests finish for `timeoutMs`, then cuts the rest; returns how many there were of both. */
  async drain(timeoutMs: number): Promise<DrainCounts> {
    for (const { server, port: { port } } of this.#open.values()) {
      this.#draining.set(server, port);
    }
    this.#open.clear();
    const servers = [...this.#draining.keys()];
    const underWay = countRequests(servers);
    let cut = 0;
    const cutLeft = async () => {
      cut = countRequests(servers);
      const reason = drainTimeout(timeoutMs);
      await Promise.all(servers.map((server) => server.close(reason)));
    };
    if (timeoutMs === 0) await cutLeft();
    const stopTimer = this.#options.clock.setTimer(cutLeft, timeoutMs);
    await Promise.all(servers.map((server) => server.drain()));
    stopTimer();
    this.#draining.clear();
    return { drained: Math.max(0, underWay - cut), cut };
  }

  #socketOf(port: Port): PlannedPort["socket"] {
    const open = this.#open.get(port.key);
    if (open !== undefined && fitsSocket(open.port, port)) return "kept";
    const rivals = this.#open.values();
    return rivals.some((rival) => sharesSocket(rival.port, port))
      ? "held"
      : "new";
  }

  async #preparePort(
    port: Port,
    claimed: ReadonlyMap<string, number>,
    undo: AsyncDisposableStack,
  ): Promise<() => void> {
    const open = this.#open.get(port.key);
    if (open !== undefined && fitsSocket(open.port, port)) {
      return this.#prepareChange(open, port);
    }
    for (const rival of this.#open.values()) {
      const isStopped = rival.server.addresses.length === 0;
      if (isStopped || !sharesSocket(rival.port, port)) continue;
      // An address cannot be opened twice, so it is closed for a moment.
      await rival.server.stopAccepting();
      undo.defer(() => this.#reopen(rival));
    }
    const adopted = Promise.withResolvers<void>();
    const server = this.#createServer(port, adopted.promise);
    undo.defer(() => server.close());
    undo.defer(() => adopted.resolve());
    const number = claimed.get(port.key) ?? port.port;
    await openPort(server, { ...port, port: number }, this.#options.reusePort);
    return () => {
      adopted.resolve();
      if (open !== undefined) this.#retire(open.server, port.port);
      this.#open.set(port.key, { server, port });
      const observed = { port: port.port, protocol: protocolOf(port) };
      this.#options.portObserver.opened(observed, server.addresses);
    };
  }

  /** Prepares new settings for a socket that stays open with its connections. */
  #prepareChange({ server, port: before }: OpenPort, port: Port): () => void {
    const adoptTls = port.tls === undefined || isSame(before.tls, port.tls)
      ? () => {}
      : server.prepareTls(tlsOf(port.tls));
    return () => {
      adoptTls();
      server.configure(this.#limitsOf(port));
      this.#open.set(port.key, { server, port });
    };
  }

  async #reopen({ server, port }: OpenPort): Promise<void> {
    try {
      await openPort(server, port, this.#options.reusePort);
    } catch (error) {
      this.#options.log.error("Port lost", { port: port.port, error });
    }
  }

  #closeAllBut(wanted: ReadonlySet<string>): void {
    for (const [key, { server, port }] of this.#open) {
      if (wanted.has(key)) continue;
      this.#open.delete(key);
      this.#retire(server, port.port);
      const observed = { port: port.port, protocol: protocolOf(port) };
      this.#options.portObserver.closed(observed);
    }
  }

  /** @param adopted Requests wait for it: until then the port is not part of the configuration in force. */
  #createServer(port: Port, adopted: Promise<void>): HttpServer {
    const { pipeline, clock, log, observe, clientsOf } = this.#options;
    let isAdopted = false;
    void adopted.then(() => isAdopted = true);
    return new HttpServer({
      handler: (request) =>
        isAdopted
          ? pipeline.handle(request, port)
          : adopted.then(() => pipeline.handle(request, port)),
      reject: respondToError,
      report: (error) => log.error("Cannot serve a connection", { error }),
      observer: observe(port),
      clock,
      limits: this.#limitsOf(port),
      clients: clientsOf?.(port),
    });
  }

  #limitsOf(port: Port): Partial<ServerLimits> {
    return { ...this.#options.limits, ...limitsOf(port) };
  }

  #retire(server: HttpServer, port: number): void {
    this.#draining.set(server, port);
    void server.drain().finally(() => this.#draining.delete(server));
  }
}

function protocolOf({ tls }: Port): ObservedPort["protocol"] {
  return tls === undefined ? "HTTP" : "HTTPS";
}

function countRequests(servers: readonly HttpServer[]): number {
  return servers.reduce((sum, { activeRequests }) => sum + activeRequests, 0);
}

/** Returns the error of requests that outlast the drain timeout. */
function drainTimeout(timeoutMs: number): GatewayError {
  const message =
    `Cut off: still running ${timeoutMs} ms after the gateway began to stop`;
  return new GatewayError("drain_timeout", "gateway", message);
}

/** Reports whether the socket of a port can serve after a change: a connection speaks TLS from its first byte, or never. */
function fitsSocket(before: Port, after: Port): boolean {
  return (before.tls === undefined) === (after.tls === undefined);
}

/** Reports whether only one of two ports can be open. */
function sharesSocket(one: Port, other: Port): boolean {
  return one.port === other.port && one.port !== 0 &&
    addressesOverlap(one.address, other.address);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
