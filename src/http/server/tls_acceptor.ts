import { once } from "node:events";
import {
  createServer as createSocketServer,
  type Server as SocketServer,
  type Socket,
} from "node:net";
import {
  createServer as createTlsServer,
  type Server as TlsServer,
  type TLSSocket,
} from "node:tls";
import type { Peer } from "../transport.ts";
import { type Acceptor, type ListenAddress, peerOf } from "./acceptor.ts";
import { CertificateTable, type TlsConfig } from "./certificate_table.ts";

/** Told of each connection whose handshake is done. */
export type OnTlsConnection = (socket: TLSSocket, peer: Peer) => unknown;

/**
 * Takes TLS connections, offering HTTP/2 and HTTP/1.1.
 *
 * The socket outlives the settings: each connection is handed to the TLS server in force, which listens on nothing itself.
 */
export class TlsAcceptor implements Acceptor {
  readonly #socket: SocketServer;
  readonly #handshakeTimeoutMs: number;
  readonly #onConnection: OnTlsConnection;
  readonly #handshaking = new Map<string, Socket>();
  #tls: TlsServer;

  /**
   * Call `listen` next.
   * @throws {TypeError} When a certificate cannot be read.
   */
  constructor(
    config: TlsConfig,
    handshakeTimeoutMs: number,
    onConnection: OnTlsConnection,
  ) {
    this.#handshakeTimeoutMs = handshakeTimeoutMs;
    this.#onConnection = onConnection;
    this.#tls = this.#createTls(config);
    this.#socket = createSocketServer(
      { allowHalfOpen: true, noDelay: true },
      (socket) => {
        this.#track(socket);
        this.#tls.emit("connection", socket);
      },
    );
  }

  /** @throws What Node throws, such as an error whose code is `EADDRINUSE`. */
  async listen({ hostname, port }: Required<ListenAddress>): Promise<void> {
    this.#socket.listen({ host: hostname, port });
    await once(this.#socket, "listening");
    // Out of file descriptors: the port goes on.
    this.#socket.on("error", () => {});
  }

  get address(): { hostname: string; port: number } {
    const address = this.#socket.address();
    if (address === null || typeof address === "string") {
      throw new TypeError("Cannot tell the address: the port is closed");
    }
    return { hostname: address.address, port: address.port };
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

  close(): Promise<void> {
    // Its callback would wait for the connections, which are not ours any more.
    this.#socket.close();
    for (const socket of this.#handshaking.values()) socket.destroy();
    return Promise.resolve();
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
      this.#handshaking.delete(keyOf(socket));
      if (isForged(socket)) socket.destroy();
      else this.#onConnection(socket, peerOfSocket(socket));
    });
    // The handshake failed or took too long; the client has been told as far as TLS can.
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    return server;
  }

  #track(socket: Socket): void {
    const key = keyOf(socket);
    this.#handshaking.set(key, socket);
    socket.on("close", () => this.#handshaking.delete(key));
    socket.on("error", () => {});
  }
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
