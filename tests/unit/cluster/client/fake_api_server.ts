import { KubernetesApi } from "../../../../src/cluster/client/kubernetes_api.ts";

/** A request that the client sent. */
export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

/** A watch that the client holds open. */
export interface OpenWatch {
  readonly query: URLSearchParams;
  send(type: string, object: object): void;
  /** Sends bytes that need not be a whole event. */
  write(text: string): void;
  /** Ends the watch, unless the client has. */
  end(): void;
}

/** An API server for faults that a real one does not produce on demand: `respond` answers, watches wait for the test. */
export class FakeApiServer implements AsyncDisposable {
  readonly api: KubernetesApi;
  readonly calls: ApiCall[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #watches: OpenWatch[] = [];
  readonly #waiting: ((watch: OpenWatch) => void)[] = [];

  constructor(respond: (call: ApiCall) => Response | object) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      async (request) => {
        const { pathname, searchParams } = new URL(request.url);
        const text = await request.text();
        const call = {
          method: request.method,
          path: pathname,
          query: searchParams,
          body: text === "" ? undefined : JSON.parse(text),
        };
        this.calls.push(call);
        if (searchParams.get("watch") === "1") {
          const rejected = respond(call);
          return rejected instanceof Response
            ? rejected
            : this.#openWatch(searchParams);
        }
        const result = respond(call);
        return result instanceof Response ? result : Response.json(result);
      },
    );
    this.api = new KubernetesApi({
      server: `http://127.0.0.1:${this.#server.addr.port}`,
      namespace: "default",
      token: () => Promise.resolve("secret-token"),
    });
  }

  /** Returns the next watch that the client opens. */
  nextWatch(): Promise<OpenWatch> {
    const open = this.#watches.shift();
    if (open !== undefined) return Promise.resolve(open);
    const { promise, resolve } = Promise.withResolvers<OpenWatch>();
    this.#waiting.push(resolve);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.api[Symbol.dispose]();
    await this.#server.shutdown();
  }

  #openWatch(query: URLSearchParams): Response {
    const encoder = new TextEncoder();
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    let isOver = false;
    const body = new ReadableStream<Uint8Array>({
      start(given) {
        controller = given;
      },
      cancel() {
        isOver = true;
      },
    });
    const write = (text: string) => controller?.enqueue(encoder.encode(text));
    const watch = {
      query,
      write,
      send: (type: string, object: object) =>
        write(`${JSON.stringify({ type, object })}\n`),
      end: () => {
        if (!isOver) controller?.close();
        isOver = true;
      },
    };
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#watches.push(watch);
    else waiting(watch);
    return new Response(body);
  }
}

/** A list response. */
export function list(
  items: readonly object[],
  resourceVersion: string,
  next?: string,
): object {
  return {
    kind: "HTTPRouteList",
    apiVersion: "gateway.networking.k8s.io/v1",
    metadata: {
      resourceVersion,
      ...(next !== undefined && { continue: next }),
    },
    items,
  };
}

/** An object of a list or an event. */
export function object(name: string, resourceVersion: string): object {
  return {
    metadata: {
      name,
      namespace: "default",
      resourceVersion,
      managedFields: [{}],
    },
  };
}

/** The error response of an API server. */
export function failure(code: number, reason: string): Response {
  return Response.json(
    { kind: "Status", code, reason, message: `it is ${reason}` },
    { status: code },
  );
}
