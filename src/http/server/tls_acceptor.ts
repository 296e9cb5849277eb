import { once } from "node:events";
import { createServer, type Server, type TLSSocket } from "node:tls";
import type { Socket } from "node:net";
import type { Peer } from "../transport.ts";
import { type Acceptor, type ListenAddress, peerOf } from "./acceptor.ts";
import { CertificateTable, type TlsConfig } from "./certificate_table.ts";

/** Told of each connection whose handshake is done. */
export type OnTlsConnection = (socket: TLSSocket, peer: Peer) => unknown;

/** Takes TLS connections, offering HTTP/2 and HTTP/1.1. */
export class TlsAcceptor implements Acceptor {
  readonly #server: Server;
  readonly #handshaking = new Map<string, Socket>();
  #table: CertificateTable;

  /**
   * Call `listen` next.
   * @throws {TypeError} When a certificate cannot be read.
   */
  constructor(
    config: TlsConfig,
    handshakeTimeoutMs: number,
    onConnection: OnTlsConnection,
  ) {
    this.#table = new CertificateTable(config);
    const { clientCertificates } = config;
    this.#server = createServer({
      allowHalfOpen: true,
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: handshakeTimeoutMs,
      minVersion: config.minVersion ?? "TLSv1.2",
      ...config.certificates[0],
      ...(clientCertificates && {
        ca: clientCertificates.ca,
        requestCert: true,
        rejectUnauthorized: clientCertificates.mode === "required",
      }),
      // Asked at each handshake, also by clients that name nobody: what is in the table now counts.
      SNICallback: (name, done) => done(null, this.#table.find(name)),
    });
    this.#server.on("connection", (socket) => this.#track(socket));
    this.#server.on("secureConnection", (socket) => {
      this.#handshaking.delete(keyOf(socket));
      if (isForged(socket)) socket.destroy();
      else onConnection(socket, peerOfSocket(socket));
    });
    // The handshake failed or took too long; the client has been told as far as TLS can.
    this.#server.on("tlsClientError", (_error, socket) => socket.destroy());
  }

  /** @throws What Node throws, such as an error whose code is `EADDRINUSE`. */
  async listen({ hostname, port }: Required<ListenAddress>): Promise<void> {
    this.#server.listen({ host: hostname, port });
    await once(this.#server, "listening");
    // Out of file descriptors: the port goes on.
    this.#server.on("error", () => {});
  }

  get address(): { hostname: string; port: number } {
    const address = this.#server.address();
    if (address === null || typeof address === "string") {
      throw new TypeError("Cannot tell the address: the port is closed");
    }
    return { hostname: address.address, port: address.port };
  }

  /**
   * Shows other certificates from now on; connections stay. Whether clients are asked for theirs cannot change.
   * @throws {TypeError} When a certificate cannot be read; the old ones stay.
   */
  reload(config: TlsConfig): void {
    this.#table = new CertificateTable(config);
  }

  close(): Promise<void> {
    // Its callback would wait for the connections, which are not ours any more.
    this.#server.close();
    for (const socket of this.#handshaking.values()) socket.destroy();
    return Promise.resolve();
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
