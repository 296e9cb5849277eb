import { createHash } from "node:crypto";
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
import type { HandshakeFailure } from "../contract/observer.ts";
import { CertificateTable, type TlsConfig } from "./certificate_table.ts";
import { findWhyNotAccepting, lookForConnections } from "./stalled_accept.ts";

const LOOK_MS = 1000;

/** A client that shakes hands. */
interface Handshake {
  readonly socket: Socket;
  /** Ends its share of the limits. */
  release(): void;
}

/** Listener of a TLS acceptor. */
export interface TlsListener {
  /** Admits a client to the handshake; the returned function is called at its end. `undefined` closes the connection. */
  admit(peer: Peer): (() => void) | undefined;
  /**
   * Called after the handshake.
   * @param serverName Server name of the client's request (SNI).
   */
  onConnection(
    socket: TLSSocket,
    peer: Peer,
    serverName: string | undefined,
  ): unknown;
  /** Called when the handshake failed. */
  onFailure(peer: Peer | undefined, failure: HandshakeFailure): void;
  /** Called when no connections can be accepted. */
  onStall(error: unknown): void;
}

/**
 * Accepts TLS connections, offering HTTP/2 and HTTP/1.1.
 *
 * The socket outlives the settings: each connection is passed to the current TLS server, which does not listen itself.
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

  /** @throws Errors of Node, such as one with code `EADDRINUSE`. */
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
   * Reads new settings. The returned function applies them to new connections; open ones are unchanged.
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
    // Its callback would wait for connections that have been passed on.
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
      // Called for each handshake, also without a server name.
      SNICallback: (name, done) => done(null, table.find(name)),
    });
    server.on("secureConnection", (socket) => {
      const peer = peerOfSocket(socket);
      const isAccepted = clientCertificates?.mode === "unverified" ||
        !isForged(socket);
      if (isAccepted) {
        this.#listener.onConnection(socket, peer, serverNameOf(socket));
      } else {
        socket.destroy();
        this.#listener.onFailure(peer, forged);
      }
      this.#untrack(keyOf(socket));
    });
    // The handshake failed or timed out; TLS has sent an alert if possible.
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

/** Returns the SHA-256 of the certificate that the client has shown, as base64url; `undefined` without one. */
export function thumbprintOf(socket: TLSSocket): string | undefined {
  const { raw } = socket.getPeerCertificate() ?? {};
  return raw && createHash("sha256").update(raw).digest("base64url");
}

/** Returns the server name, which the types of Node lack. */
function serverNameOf(socket: TLSSocket): string | undefined {
  if (!("servername" in socket)) return undefined;
  const { servername } = socket;
  return typeof servername === "string" && servername !== ""
    ? servername
    : undefined;
}

/** Returns the underlying connection, which still has the peer after a failed handshake; Deno's TLS socket does not. */
function connectionBelow(socket: TLSSocket): Socket | undefined {
  const below: unknown = Reflect.get(socket, "_parent");
  return below instanceof Socket ? below : undefined;
}

/** Returns whether the client has sent an invalid certificate; none is valid if it is optional. */
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
