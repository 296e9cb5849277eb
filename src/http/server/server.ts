import type { Transport } from "../transport.ts";
import {
  type Acceptor,
  type ListenAddress,
  openAll,
  TcpAcceptor,
} from "./acceptor.ts";
import type { Client } from "./client_link.ts";
import { Http1Connection } from "./http1_connection.ts";
import {
  DEFAULT_LIMITS,
  type ServerContext,
  type ServerOptions,
} from "./options.ts";
import { Sweep } from "./sweep.ts";

/** A connection that is being served, in whichever version of HTTP. */
interface ServedConnection {
  /** Lets the requests under way be the last. */
  retire(): void;
  /** Cuts the connection. */
  close(): void;
}

/** How many connections a server has seen. */
export interface ConnectionCounts {
  readonly accepted: number;
  /** Turned away because there were too many. */
  readonly refused: number;
  readonly active: number;
}

/** Serves HTTP on one port. */
export class HttpServer {
  readonly #context: ServerContext;
  readonly #connections = new Set<ServedConnection>();
  #acceptors: Acceptor[] = [];
  #accepted = 0;
  #refused = 0;
  #draining = false;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: ServerOptions) {
    this.#context = {
      ...options,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      sweep: new Sweep(options.clock),
    };
  }

  /** Where the server listens; the real port even if it was asked for 0. */
  get addresses(): { readonly hostname: string; readonly port: number }[] {
    return this.#acceptors.map(({ address }) => address);
  }

  get connections(): ConnectionCounts {
    return {
      accepted: this.#accepted,
      refused: this.#refused,
      active: this.#connections.size,
    };
  }

  /**
   * Opens the port.
   * @throws When the address cannot be listened on.
   */
  async start(address: ListenAddress): Promise<void> {
    const { clock } = this.#context;
    this.#acceptors = await openAll(
      address,
      (address) =>
        new TcpAcceptor(
          address,
          clock,
          (transport, peer) =>
            void this.#serve(transport, { peer, scheme: "http" }),
        ),
    );
  }

  /** Takes no further connections or requests; resolves when those under way are answered. */
  async drain(): Promise<void> {
    this.#draining = true;
    await this.#stopAccepting();
    for (const connection of this.#connections) connection.retire();
    await this.#untilIdle();
  }

  /** Cuts all connections. */
  async close(): Promise<void> {
    this.#draining = true;
    await this.#stopAccepting();
    for (const connection of this.#connections) connection.close();
    await this.#untilIdle();
  }

  async #serve(transport: Transport, client: Client): Promise<void> {
    this.#accepted++;
    if (this.#connections.size >= this.#context.limits.maxConnections) {
      this.#refused++;
      transport.close();
      return;
    }
    const connection = new Http1Connection(transport, client, this.#context);
    await this.#whileOpen(connection, connection.run());
  }

  async #whileOpen<T>(connection: ServedConnection, end: Promise<T>) {
    this.#connections.add(connection);
    if (this.#draining) connection.retire();
    try {
      return await end;
    } finally {
      this.#connections.delete(connection);
      if (this.#connections.size === 0) this.#idle?.resolve();
    }
  }

  async #stopAccepting(): Promise<void> {
    const acceptors = this.#acceptors;
    this.#acceptors = [];
    await Promise.all(acceptors.map((acceptor) => acceptor.close()));
  }

  #untilIdle(): Promise<void> {
    if (this.#connections.size === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }
}
