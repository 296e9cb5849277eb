const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/** Streams of events from an MCP server to those who listen to it. */
export class EventStreams {
  readonly #open = new Map<
    ReadableStreamDefaultController<Uint8Array>,
    unknown
  >();
  readonly #opened = Promise.withResolvers<void>();

  /** Resolves once a stream was opened. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Opens a stream. @param subscription Id of the request, for a stream of MCP 2026-07-28. */
  open(subscription?: unknown): Response {
    let own: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        own = controller;
        this.#open.set(controller, subscription);
        const method = "notifications/subscriptions/acknowledged";
        send(controller, method, subscription);
      },
      cancel: () => {
        if (own !== undefined) this.#open.delete(own);
      },
    });
    this.#opened.resolve();
    return new Response(body, {
      headers: { "content-type": "text/event-stream" },
    });
  }

  /** Sends a notification to all who listen. */
  notify(method: string): void {
    for (const [each, subscription] of this.#open) {
      send(each, method, subscription);
    }
  }

  /** Breaks all streams. */
  break(): void {
    for (const each of this.#open.keys()) each.error(new Error("broken"));
    this.#open.clear();
  }

  /** Ends all streams. */
  close(): void {
    for (const each of this.#open.keys()) each.close();
    this.#open.clear();
  }
}

function send(
  stream: ReadableStreamDefaultController<Uint8Array>,
  method: string,
  subscription: unknown,
): void {
  const params = subscription === undefined
    ? {}
    : { _meta: { [SUBSCRIPTION]: subscription } };
  const message = JSON.stringify({ jsonrpc: "2.0", method, params });
  stream.enqueue(new TextEncoder().encode(`data: ${message}\n\n`));
}
