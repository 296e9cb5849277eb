import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";

/** Handles one request of `node:http`. */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
) => void;

/** A server of `node:http` on 127.0.0.1 that can stop and start again on its port. */
export class RestartableServer {
  readonly #server: Server;
  readonly #port: number;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
  }

  /** Listens on `port`; 0 takes a free one. */
  static async start(
    port: number,
    handle: Handler,
  ): Promise<RestartableServer> {
    const server = createServer(handle);
    return new RestartableServer(server, await listen(server, port));
  }

  /** `http://127.0.0.1:41236`. */
  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    await listen(this.#server, this.#port);
  }

  /** Closes all connections; resolves when the port is free. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
  }
}

async function listen(server: Server, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, "127.0.0.1", resolve);
  await promise;
  server.off("error", reject);
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}
