import { Buffer } from "node:buffer";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { RestRequest } from "../../../src/mcp/openapi/calls/rest_request.ts";

/** A request as a server has read it from the network. */
export interface ArrivedRequest {
  readonly method: string;
  /** Path and query, not decoded. */
  readonly target: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A server that records what arrives, on an ephemeral port, and a client that changes nothing of what it sends. */
export class EchoApi implements AsyncDisposable {
  readonly #server = createServer((incoming, response) => {
    const chunks: Uint8Array[] = [];
    incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    incoming.on("end", () => {
      this.#arrived = {
        method: incoming.method ?? "",
        target: incoming.url ?? "",
        headers: Object.fromEntries(
          Object.entries(incoming.headers)
            .map(([name, value]) => [name, [value ?? ""].flat().join(", ")]),
        ),
        body: Uint8Array.from(Buffer.concat(chunks)),
      };
      response.writeHead(204).end();
    });
  });
  #arrived: ArrivedRequest | undefined;

  static async start(): Promise<EchoApi> {
    const api = new EchoApi();
    await new Promise<void>((resolve) =>
      api.#server.listen(0, "127.0.0.1", resolve)
    );
    return api;
  }

  /** Sends a request and returns it as it has arrived. */
  async send(
    { method, target, headers, body }: RestRequest,
  ): Promise<ArrivedRequest> {
    const { port } = this.#address();
    const length = body === undefined ? {} : { "content-length": body.length };
    this.#arrived = undefined;
    await new Promise<void>((resolve, reject) => {
      const sent = request({
        host: "127.0.0.1",
        port,
        method,
        path: target,
        headers: { ...Object.fromEntries(headers), ...length },
      }, (response) => response.resume().on("end", resolve));
      sent.on("error", reject);
      sent.end(body);
    });
    if (this.#arrived === undefined) throw new Error("Nothing has arrived");
    return this.#arrived;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #address(): AddressInfo {
    const address = this.#server.address();
    if (address !== null && typeof address === "object") return address;
    throw new Error("The server does not listen");
  }
}
