import type { TLSSocket } from "node:tls";
import type { GatewayError } from "../../base/errors.ts";
import { NodeTransport } from "../node_transport.ts";
import { TimerWheel } from "../timer_wheel.ts";
import type { Peer, Transport } from "../transport.ts";
import {
  type Acceptor,
  type ListenAddress,
  openAll,
  TcpAcceptor,
} from "./accept/acceptor.ts";
import { ClientCounts, type ClientRegister } from "./contract/client_counts.ts";
import type { TlsConfig } from "./accept/certificate_table.ts";
import {
  type Client,
  defaultLimits,
  type ServerContext,
  type ServerLimits,
  type ServerOptions,
} from "./contract/server_options.ts";
import { Http1ServerConnection } from "./http1/http1_server_connection.ts";
import { Http2ServerConnection } from "./http2/http2_server_connection.ts";
import { createDateSource } from "./http1/response_head.ts";
import type { OpenConnection } from "./contract/open_connection.ts";
import { thumbprintOf, TlsAcceptor } from "./accept/tls_acceptor.ts";

/** Precision of client deadlines, which keeps the number of timers low for ten thousand clients. */
const DEADLINE_RESOLUTION_MS = 500;

/** A connection of any HTTP version. */
interface ServedConnection extends OpenConnection {
  /** Asks the client to use another connection from now on. */
  announceEnd(): void;
  /** Makes the requests in progress the last ones. */
  retire(): void;
  /** Closes the connection; requests in progress fail with `reason`. */
  close(reason?: GatewayError): void;
  /** Reason why it ended, for the log. */
  readonly endReason: string;
}

/** Connection counts of a server. */
export interface ConnectionCounts {
  readonly accepted: number;
  /** Rejected because there were too many. */
  readonly refused: number;
  readonly active: number;
}

/**
 * Serves HTTP on one port: HTTP/1.1 and 1.0, and HTTP/2 by ALPN over TLS or by prior knowledge without TLS.
 */
export class HttpServer {
  readonly #context: ServerContext;
  readonly #connections = new Set<ServedConnection>();
  readonly #clients: ClientRegister;
  #acceptors: Acceptor[] = [];
  /** Acceptors that take no further connections, with handshakes under way. */
  readonly #closing = new Set<Acceptor>();
  #accepted = 0;
  #refused = 0;
  #state: "accepting" | "leaving" | "draining" = "accepting";
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: ServerOptions) {
    this.#clients = options.clients ?? new ClientCounts();
    this.#context = {
      ...options,
      limits: { ...defaultLimits, ...options.limits },
      wheel: new TimerWheel(options.clock, DEADLINE_RESOLUTION_MS),
      date: createDateSource(options.clock),
    };
  }

  /** Listen addresses with the actual ports. */
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

  get maxConnections(): number {
    return this.#context.limits.maxConnections;
  }

  /** Open connections, unordered. */
  get open(): Iterable<OpenConnection> {
    return this.#connections;
  }

  /** Number of requests in progress. */
  get activeRequests(): number {
    let count = 0;
    for (const { activeRequests } of this.#connections) count += activeRequests;
    return count;
  }

  /**
   * Opens the port.
   * @param tls Serves `https` if set, else `http`.
   * @throws When the port cannot be opened or a certificate cannot be read.
   */
  async start(address: ListenAddress, tls?: TlsConfig): Promise<void> {
    this.#acceptors = await openAll<Acceptor>(
      address,
      (address) =>
        tls === undefined
          ? this.#openTcp(address)
          : this.#openTls(address, tls),
    );
  }

  /** Changes the limits; open connections apply them from their next wait. */
  configure(limits: Partial<ServerLimits>): void {
    this.#context.limits = { ...defaultLimits, ...limits };
  }

  /**
   * Loads other TLS settings. The returned function activates them for new connections; open ones are not affected.
   * @throws {TypeError} When a certificate cannot be read.
   */
  prepareTls(tls: TlsConfig): () => void {
    const changes = this.#acceptors
      .filter((acceptor) => acceptor instanceof TlsAcceptor)
      .map((acceptor) => acceptor.prepare(tls));
    return () => changes.forEach((change) => change());
  }

  /** Ends each connection after its next response, and goes on accepting. */
  leave(): void {
    if (this.#state === "accepting") this.#state = "leaving";
    for (const connection of this.#connections) connection.announceEnd();
  }

  /** Accepts no further connections until the next `start`; open ones continue. */
  async stopAccepting(): Promise<void> {
    const acceptors = this.#acceptors;
    this.#acceptors = [];
    await Promise.all(acceptors.map((acceptor) => this.#close(acceptor)));
  }

  /** Closes an acceptor; its handshakes continue. */
  async #close(acceptor: Acceptor): Promise<void> {
    this.#closing.add(acceptor);
    await acceptor.close();
    void acceptor.settled().then(() => this.#closing.delete(acceptor));
  }

  /** Accepts no further connections and requests; resolves when those in progress have finished. */
  async drain(): Promise<void> {
    this.#state = "draining";
    // First, so that clients whose connection ends connect to a process that stays.
    await this.stopAccepting();
    for (const connection of this.#connections) connection.retire();
    await this.#untilIdle();
  }

  /** Closes all connections; requests in progress fail with `reason`. */
  async close(reason?: GatewayError): Promise<void> {
    this.#state = "draining";
    await this.stopAccepting();
    for (const acceptor of this.#closing) acceptor.abort();
    for (const connection of this.#connections) connection.close(reason);
    await this.#untilIdle();
  }

  #openTcp(address: Required<ListenAddress>): TcpAcceptor {
    const { clock, observer } = this.#context;
    return new TcpAcceptor(address, clock, {
      onConnection: this.#onConnection,
      onStall: (error) => observer.acceptStalled(error),
    });
  }

  async #openTls(
    address: Required<ListenAddress>,
    tls: TlsConfig,
  ): Promise<TlsAcceptor> {
    const { clock, limits, observer } = this.#context;
    const acceptor = new TlsAcceptor(
      tls,
      { clock, handshakeTimeoutMs: limits.tlsHandshakeTimeoutMs },
      {
        admit: (peer) =>
          this.#admits(peer) ? this.#clients.add(peer.address) : undefined,
        onConnection: this.#onTlsConnection,
        onFailure: (peer, failure) => observer.handshakeFailed(peer, failure),
        onStall: (error) => observer.acceptStalled(error),
      },
    );
    await acceptor.listen(address);
    return acceptor;
  }

  readonly #onConnection = async (
    transport: Transport,
    peer: Peer,
  ): Promise<void> => {
    if (!this.#admits(peer)) return transport.close();
    const client: Client = { peer, scheme: "http", serverName: undefined };
    const early = await this.#serveHttp1(transport, client);
    if (early === undefined) return;
    await this.#serveHttp2(transport, client, early);
  };

  readonly #onTlsConnection = async (
    socket: TLSSocket,
    peer: Peer,
    serverName: string | undefined,
  ): Promise<void> => {
    const client: Client = {
      peer,
      scheme: "https",
      serverName,
      clientCertificate: thumbprintOf(socket),
    };
    const transport = new NodeTransport(socket);
    if (socket.alpnProtocol === "h2") await this.#serveHttp2(transport, client);
    else await this.#serveHttp1(transport, client);
  };

  #admits(peer: Peer): boolean {
    this.#accepted++;
    let count = this.#clients.total();
    for (const { handshakes } of this.#acceptors) count += handshakes;
    for (const { handshakes } of this.#closing) count += handshakes;
    const { maxConnections, maxConnectionsPerAddress } = this.#context.limits;
    const share = maxConnectionsPerAddress ?? Math.ceil(maxConnections / 2);
    const isFull = count >= maxConnections;
    if (!isFull && this.#clients.of(peer.address) < share) {
      return true;
    }
    this.#refused++;
    this.#context.observer.connectionRejected(
      peer,
      isFull ? "max_connections" : "max_connections_per_address",
    );
    return false;
  }

  #serveHttp1(
    transport: Transport,
    client: Client,
  ): Promise<Uint8Array | undefined> {
    const connection = new Http1ServerConnection(
      transport,
      client,
      this.#context,
    );
    this.#context.observer.connectionOpened(client.peer, "http/1.1");
    return this.#whileOpen(client, connection, connection.run());
  }

  #serveHttp2(
    transport: Transport,
    client: Client,
    early?: Uint8Array,
  ): Promise<void> {
    const connection = new Http2ServerConnection(
      transport,
      client,
      this.#context,
    );
    this.#context.observer.connectionOpened(client.peer, "h2");
    return this.#whileOpen(client, connection, connection.run(early));
  }

  async #whileOpen<T>(
    { peer }: Client,
    connection: ServedConnection,
    end: Promise<T>,
  ): Promise<T> {
    this.#connections.add(connection);
    const release = this.#clients.add(peer.address);
    if (this.#state === "leaving") connection.announceEnd();
    if (this.#state === "draining") connection.retire();
    try {
      return await end;
    } finally {
      this.#connections.delete(connection);
      release();
      this.#context.observer.connectionClosed(peer, connection.endReason);
      if (this.#connections.size === 0) this.#idle?.resolve();
    }
  }

  async #untilIdle(): Promise<void> {
    for (const acceptor of [...this.#closing]) await acceptor.settled();
    if (this.#connections.size === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }
}
