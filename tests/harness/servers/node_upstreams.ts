import {
  createSecureServer,
  createServer as createHttp2Server,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { answer } from "../clients/raw_upstream.ts";

/** Responds to one HTTP/2 stream. */
export type StreamHandler = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
) => void;

/** A Node.js server for upstream tests; disposing it closes all its connections. */
export class NodeUpstream implements AsyncDisposable {
  readonly #server: NetServer | Http2Server | Http2SecureServer;
  readonly #sockets = new Set<Socket>();

  /** @param server Must not listen yet. */
  constructor(server: NetServer | Http2Server | Http2SecureServer) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {});
    });
  }

  /** Returns the requested server name (SNI) for every request. */
  static overTls(options: TlsOptions): Promise<NodeUpstream> {
    const server = createTlsServer(options, (socket) => {
      socket.on("error", () => {});
      socket.on("data", () => socket.write(answer(serverNameOf(socket))));
    });
    server.on("tlsClientError", () => {});
    return new NodeUpstream(server).#listen();
  }

  /** Starts HTTP/2 without TLS. */
  static http2(
    handle: StreamHandler,
    options: { settings?: { maxConcurrentStreams?: number } } = {},
  ): Promise<NodeUpstream> {
    const server = createHttp2Server(options);
    return NodeUpstream.#handling(server, handle);
  }

  /** Starts HTTP/2 by ALPN, with HTTP/1.1 for other clients if `allowHTTP1` is set. */
  static http2OverTls(
    handle: StreamHandler,
    options: SecureServerOptions,
    handleHttp1?: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<NodeUpstream> {
    const server = createSecureServer(options);
    server.on("request", (request, response) => {
      if (request.httpVersionMajor === 1) {
        handleHttp1?.(
          request as unknown as IncomingMessage,
          response as unknown as ServerResponse,
        );
      }
    });
    return NodeUpstream.#handling(server, handle);
  }

  static #handling(
    server: Http2Server | Http2SecureServer,
    handle: StreamHandler,
  ): Promise<NodeUpstream> {
    server.on("session", (session) => session.on("error", () => {}));
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      stream.on("error", () => {});
      handle(stream, headers);
    });
    return new NodeUpstream(server).#listen();
  }

  get port(): number {
    const address = this.#server.address() as AddressInfo;
    return address.port;
  }

  /** Open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Destroys every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) =>
      this.#server.close(() => resolve())
    );
    this.cut();
    await closed;
  }

  #listen(): Promise<NodeUpstream> {
    return new Promise((resolve) =>
      this.#server.listen(0, "127.0.0.1", () => resolve(this))
    );
  }
}

/** Reads a property that is missing in Node's types. */
function serverNameOf(socket: object): string {
  return "servername" in socket ? String(socket.servername) : "";
}
