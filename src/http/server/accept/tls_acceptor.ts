import { once } from "node:events";
import {
  createServer as createSocketServer,
  type Server as SocketServer,
  Socket,
} from "node:net";
import {
  createServer as createTlsServer,
  type Server as TlsServer,
  type TLSSocket,
} from "node:tls";
import type { Clock } from "../../../base/clock.ts";
import type { Peer } from "../../transport.ts";
import { untilQueueIsEmpty } from "./accept_queue.ts";
import { type Acceptor, type ListenAddress, peerOf } from "./acceptor.ts";
import { describeHandshakeFailure } from "./handshake_failure.ts";
import type { HandshakeFailure } from "../observer.ts";
import { CertificateTable, type TlsConfig } from "./certificate_table.ts";
import { findWhyNotAccepting, lookForConnections } from "./stalled_accept.ts";

const LOOK_MS = 1000;

/** A client that shakes hands. */
interface Handshake {
  readonly socket: Socket;
  /** Ends its share of the limits. */
  release(): void;
}

/** Told what became of each connection. */
export interface TlsListener {
  /** Admits a client to the handshake; the returned function is called at its end. `undefined` closes the connection. */
  admit(peer: Peer): (() => void) | undefined;
  /**
   * The handshake is done.
   * @param serverName The name that the client asked for.
   */
  onConnection(
    socket: TLSSocket,
    peer: Peer,
    serverName: string | undefined,
  ): unknown;
  /** It failed. */
  onFailure(peer: Peer | undefined, failure: HandshakeFailure): void;
  /** Clients have to wait for a connection. */
  onStall(error: unknown): void;
}

/**
 * Takes TLS connections, offering HTTP/2 and HTTP/1.1.
 *
 * The socket outlives the settings: each connection is handed to the TLS server in force, which listens on nothing itself.
 */
export class TlsAcceptor implements Acceptor {
  readonly #socket: SocketServer;
  readonly #clock: Clock;
  readonly #handshakeTimeoutMs: number;
  readonly #listener: TlsListener;
  readonly #handshaking = new Map<string, Handshake>();
  #settled: PromiseWithResolvers<void> | undefined;
  #taken = 0;
  #tls: TlsServer;
  #stopLooking = () => {};

  /**
   * Call `listen` next.
   * @throws {TypeError} When a certificate cannot be read.
   */
  constructor(
    config: TlsConfig,
    { clock, handshakeTimeoutMs }: {
      readonly clock: Clock;
      readonly handshakeTimeoutMs: number;
    },
    listener: TlsListener,
  ) {
    this.#clock = clock;
    this.#handshakeTimeoutMs = handshakeTimeoutMs;
    this.#listener = listener;
    this.#tls = this.#createTls(config);
    this.#socket = createSocketServer(
      { allowHalfOpen: true, noDelay: true },
      (socket) => {
        this.#taken++;
        const release = listener.admit(peerOfSocket(socket));
        if (release === undefined) return void socket.destroy();
        this.#track(socket, release);
        this.#tls.emit("connection", socket);
      },
    );
  }

  /** @throws What Node throws, such as an error whose code is `EADDRINUSE`. */
  async listen(
    { hostname, port, reusePort }: Required<ListenAddress>,
  ): Promise<void> {
    this.#socket.listen({ host: hostname, port, reusePort });
    await once(this.#socket, "listening");
    this.#socket.on("error", (error) => this.#listener.onStall(error));
    this.#keepLooking();
  }

  get address(): { hostname: string; port: number } {
    const address = this.#socket.address();
    if (address === null || typeof address === "string") {
      throw new TypeError("Cannot tell the address: the port is closed");
    }
    return { hostname: address.address, port: address.port };
  }

  get handshakes(): number {
    return this.#handshaking.size;
  }

  /**
   * Reads other settings. What it answers puts them into force for new connections; those that are open stay.
   * @throws {TypeError} When a certificate cannot be read.
   */
  prepare(config: TlsConfig): () => void {
    const next = this.#createTls(config);
    return () => {
      this.#tls = next;
    };
  }

  async close(): Promise<void> {
    this.#stopLooking();
    await untilQueueIsEmpty(() => this.#taken);
    // Its callback would wait for the connections, which are not ours any more.
    this.#socket.close();
  }

  settled(): Promise<void> {
    if (this.#handshaking.size === 0) return Promise.resolve();
    this.#settled ??= Promise.withResolvers();
    return this.#settled.promise;
  }

  abort(): void {
    for (const { socket } of this.#handshaking.values()) socket.destroy();
  }

  #keepLooking(): void {
    this.#stopLooking = this.#clock.setTimer(() => {
      const error = findWhyNotAccepting();
      if (error !== undefined) this.#listener.onStall(error);
      lookForConnections(this.#socket);
      this.#keepLooking();
    }, LOOK_MS);
  }

  #createTls(config: TlsConfig): TlsServer {
    const table = new CertificateTable(config);
    const { clientCertificates } = config;
    const server = createTlsServer({
      allowHalfOpen: true,
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: this.#handshakeTimeoutMs,
      minVersion: config.minVersion ?? "TLSv1.2",
      ...config.certificates[0],
      ...(clientCertificates && {
        ca: clientCertificates.ca,
        requestCert: true,
        rejectUnauthorized: clientCertificates.mode === "required",
      }),
      // Asked at each handshake, also by clients that name nobody.
      SNICallback: (name, done) => done(null, table.find(name)),
    });
    server.on("secureConnection", (socket) => {
      const peer = peerOfSocket(socket);
      const isAccepted = !isForged(socket);
      if (isAccepted) {
        this.#listener.onConnection(socket, peer, serverNameOf(socket));
      } else {
        socket.destroy();
        this.#listener.onFailure(peer, forged);
      }
      this.#untrack(keyOf(socket));
    });
    // The handshake failed or took too long; the client has been told as far as TLS can.
    server.on("tlsClientError", (error, socket) => {
      const connection = connectionBelow(socket);
      const bytesRead = connection?.bytesRead ?? 0;
      const asksForCertificate = clientCertificates !== undefined;
      const peer = connection && peerOfSocket(connection);
      socket.destroy();
      this.#listener.onFailure(
        peer,
        describeHandshakeFailure({ error, bytesRead, asksForCertificate }),
      );
    });
    return server;
  }

  #track(socket: Socket, release: () => void): void {
    const key = keyOf(socket);
    this.#handshaking.set(key, { socket, release });
    socket.on("close", () => this.#untrack(key));
    socket.on("error", () => {});
  }

  #untrack(key: string): void {
    const handshake = this.#handshaking.get(key);
    if (handshake === undefined) return;
    this.#handshaking.delete(key);
    handshake.release();
    if (this.#handshaking.size === 0) this.#settled?.resolve();
  }
}

const forged: HandshakeFailure = {
  reason: "bad_client_certificate",
  message: "The client's certificate does not verify",
};

/** Missing in the types of Node. */
function serverNameOf(socket: TLSSocket): string | undefined {
  if (!("servername" in socket)) return undefined;
  const { servername } = socket;
  return typeof servername === "string" && servername !== ""
    ? servername
    : undefined;
}

/** Deno's TLS socket forgets its peer when the handshake fails; the connection that it was made of remembers. */
function connectionBelow(socket: TLSSocket): Socket | undefined {
  const below: unknown = Reflect.get(socket, "_parent");
  return below instanceof Socket ? below : undefined;
}

/** Whether the client shows a certificate that does not verify; showing none is fine where it is optional. */
function isForged(socket: TLSSocket): boolean {
  if (socket.authorized || !socket.authorizationError) return false;
  return Object.keys(socket.getPeerCertificate() ?? {}).length > 0;
}

function peerOfSocket({ remoteAddress, remotePort }: Socket): Peer {
  return peerOf({ hostname: remoteAddress ?? "", port: remotePort ?? 0 });
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
