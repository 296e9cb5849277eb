/** A received request. */
export interface RecordedRequest {
  readonly method: string;
  readonly host: string;
  readonly pathAndQuery: string;
  readonly headers: Headers;
  readonly body: string;
  /** The client's port. */
  readonly port: number;
}

/** Listens in place of a gateway and records the requests. */
export class RecordingListener implements AsyncDisposable {
  readonly requests: RecordedRequest[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(
    tls?: { readonly cert: string; readonly key: string },
  ) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls },
      async (request, { remoteAddr }) => {
        const { host, pathname, search } = new URL(request.url);
        this.requests.push({
          method: request.method,
          host: request.headers.get("host") ?? host,
          pathAndQuery: pathname + search,
          // The headers of the request become invalid after the response.
          headers: new Headers(request.headers),
          body: await request.text(),
          port: remoteAddr.port,
        });
        return new Response("the body of the response");
      },
    );
  }

  get port(): number {
    return this.#server.addr.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
