import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { ServerLimits } from "../http/server/options.ts";
import { HttpServer } from "../http/server/server.ts";
import type { Port } from "../snapshot/snapshot.ts";
import type { Pipeline } from "./pipeline.ts";
import { respondToError } from "./respond.ts";

/** What the listeners need of their surroundings. */
export interface ListenersOptions {
  readonly pipeline: Pipeline;
  readonly clock: Clock;
  readonly log: Log;
  /** For every port; a port's own timeouts and connections come on top. */
  readonly limits: Pick<ServerLimits, "maxHeaderBytes" | "maxHeaderCount">;
}

/** A port that is open. */
interface OpenPort {
  readonly server: HttpServer;
  readonly port: Port;
}

/** The sockets in use: a port that stays in the configuration keeps its socket and its connections. */
export class Listeners {
  readonly #options: ListenersOptions;
  readonly #open = new Map<string, OpenPort>();
  readonly #draining = new Set<HttpServer>();

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  /** The addresses that accept now. */
  addresses(): { configuredPort: number; hostname: string; port: number }[] {
    return [...this.#open.values()].flatMap(({ server, port }) =>
      server.addresses.map((address) => ({
        configuredPort: port.port,
        ...address,
      }))
    );
  }

  /** Connections by configured port. */
  stats(): { port: number; active: number; accepted: number }[] {
    return [...this.#open.values()].map(({ server, port }) => ({
      port: port.port,
      ...server.connections,
    }));
  }

  /**
   * Opens the ports that are new. What it answers adopts all settings and drains the ports that are gone.
   * @throws When a port cannot be opened; nothing has changed then.
   */
  async prepare(ports: readonly Port[]): Promise<() => void> {
    const opened = new Map<string, OpenPort>();
    try {
      for (const port of ports) {
        if (this.#open.has(socketKey(port))) continue;
        opened.set(socketKey(port), await this.#openPort(port));
      }
    } catch (error) {
      await Promise.all(
        [...opened.values()].map(({ server }) => server.close()),
      );
      throw error;
    }
    return () => this.#adopt(ports, opened);
  }

  /** Lets requests finish for `timeoutMs`, then cuts what is left. */
  async drain(timeoutMs: number): Promise<void> {
    for (const { server } of this.#open.values()) this.#retire(server);
    this.#open.clear();
    const servers = [...this.#draining];
    const cut = () => servers.forEach((server) => void server.close());
    const stopTimer = this.#options.clock.setTimer(cut, timeoutMs);
    await Promise.all(servers.map((server) => server.drain()));
    stopTimer();
  }

  async #openPort(port: Port): Promise<OpenPort> {
    const { pipeline, clock, log, limits } = this.#options;
    const server = new HttpServer({
      handler: (request) => pipeline.handle(request, port.port),
      reject: respondToError,
      report: (error) => log.error("Cannot serve a connection", { error }),
      clock,
      limits: { ...limits, ...limitsOf(port) },
    });
    await server.start(addressOf(port));
    log.info("Listening", { port: port.port });
    return { server, port };
  }

  #adopt(ports: readonly Port[], opened: ReadonlyMap<string, OpenPort>): void {
    const wanted = new Map(ports.map((port) => [socketKey(port), port]));
    for (const [key, { server, port }] of this.#open) {
      const next = wanted.get(key);
      if (next !== undefined) {
        this.#open.set(key, { server, port: next });
        continue;
      }
      this.#open.delete(key);
      this.#retire(server);
      this.#options.log.info("Port closed", { port: port.port });
    }
    for (const [key, open] of opened) this.#open.set(key, open);
  }

  #retire(server: HttpServer): void {
    this.#draining.add(server);
    void server.drain().finally(() => this.#draining.delete(server));
  }
}

function socketKey({ address, port }: Port): string {
  return `${address ?? "*"}:${port}`;
}

function addressOf({ address, port }: Port) {
  return address === undefined ? { port } : { hostname: address, port };
}

function limitsOf({ maxConnections, timeouts }: Port): Partial<ServerLimits> {
  const { requestHeadersMs, requestBodyMs, idleMs } = timeouts;
  return {
    ...(maxConnections !== undefined && { maxConnections }),
    ...(requestHeadersMs !== undefined &&
      { requestHeadersTimeoutMs: requestHeadersMs }),
    ...(requestBodyMs !== undefined && { bodyIdleTimeoutMs: requestBodyMs }),
    ...(idleMs !== undefined && { keepAliveTimeoutMs: idleMs }),
  };
}
