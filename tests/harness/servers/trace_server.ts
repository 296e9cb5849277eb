import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";

/** An admin interface whose traces are written by the test. */
export class TraceServer implements AsyncDisposable {
  /** Of the requests for a trace, such as `filter=true&count=2`. */
  readonly queries: string[] = [];
  /** Such as `127.0.0.1:40123` or `unix:/tmp/x/admin.sock`. */
  readonly address: string;
  readonly #server: Deno.HttpServer;
  readonly #listeners: readonly unknown[];
  readonly #arrivals: ((stream: ScriptedStream) => void)[] = [];
  readonly #streams: ScriptedStream[] = [];
  readonly #refusal: Response | undefined;

  constructor(
    { listeners = [], refusal, unixPath }: {
      /** As in `/config_dump`. */
      readonly listeners?: readonly unknown[];
      /** The answer in place of a trace. */
      readonly refusal?: Response;
      readonly unixPath?: string;
    } = {},
  ) {
    this.#listeners = listeners;
    this.#refusal = refusal;
    const onListen = () => {};
    const handler = (request: Request) => this.#answer(request);
    if (unixPath !== undefined) {
      this.#server = Deno.serve({ path: unixPath, onListen }, handler);
      this.address = `unix:${unixPath}`;
      return;
    }
    const hostname = "127.0.0.1";
    const server = Deno.serve({ hostname, port: 0, onListen }, handler);
    this.#server = server;
    this.address = `${hostname}:${server.addr.port}`;
  }

  /** The next stream that somebody asked for. */
  nextStream(): Promise<ScriptedStream> {
    const waiting = this.#streams.shift();
    if (waiting !== undefined) return Promise.resolve(waiting);
    return new Promise((resolve) => this.#arrivals.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  #answer(request: Request): Response {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/config_dump") {
      return Response.json({ listeners: this.#listeners });
    }
    if (pathname !== "/debug/trace") {
      return new Response("not found\n", { status: 404 });
    }
    this.queries.push(searchParams.toString());
    if (this.#refusal !== undefined) return this.#refusal.clone();
    const stream = new ScriptedStream();
    const arrival = this.#arrivals.shift();
    if (arrival === undefined) this.#streams.push(stream);
    else arrival(stream);
    const headers = { "content-type": "text/event-stream" };
    return new Response(stream.body, { headers });
  }
}

/** One trace, which says `: ready` by itself. */
export class ScriptedStream {
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor() {
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
        this.#write(": ready\n\n");
      },
    });
  }

  send(...events: readonly TraceEvent[]): void {
    for (const event of events) {
      this.#write(`: keepalive\n\ndata: ${JSON.stringify(event)}\n\n`);
    }
  }

  end(): void {
    this.#controller?.close();
  }

  /** Resets the connection. */
  cut(): void {
    this.#controller?.error(new Error("cut by the test"));
  }

  #write(text: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(text));
  }
}
