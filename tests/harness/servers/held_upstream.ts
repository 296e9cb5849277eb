import { createServer, type ServerResponse } from "node:http";
import { NodeUpstream } from "./node_upstreams.ts";

/** An upstream whose responses to POST wait until the test sends them; it responds to GET with `{}`. */
export class HeldUpstream implements AsyncDisposable {
  /** Responses to the requests that have arrived. */
  readonly waiting: ServerResponse[];
  readonly port: number;
  readonly #server: NodeUpstream;

  private constructor(
    server: NodeUpstream,
    port: number,
    waiting: ServerResponse[],
  ) {
    this.#server = server;
    this.port = port;
    this.waiting = waiting;
  }

  static async start(): Promise<HeldUpstream> {
    const waiting: ServerResponse[] = [];
    const server = createServer((request, response) => {
      request.resume();
      if (request.method === "GET") response.end("{}");
      else waiting.push(response);
    });
    const upstream = new NodeUpstream(server);
    await new Promise<void>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve())
    );
    const address = server.address();
    const port = typeof address === "object" ? address?.port ?? 0 : 0;
    return new HeldUpstream(upstream, port, waiting);
  }

  get backends(): readonly [{ readonly host: string }] {
    return [{ host: `127.0.0.1:${this.port}` }];
  }

  /** Responds to all requests that have arrived. */
  respond(status: number, json: string): void {
    for (const response of this.waiting.splice(0)) {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(json);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

/** Waits a limited time for a condition. */
export async function until(
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const giveUpAt = Date.now() + 120_000;
  while (!await condition()) {
    if (Date.now() > giveUpAt) throw new Error("The condition never held");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
