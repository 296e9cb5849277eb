/** A running HTTP server on 127.0.0.1. */
export interface LoopbackServer {
  /** `http://127.0.0.1:41234`, with no trailing slash. */
  readonly origin: string;
  /** Stops listening and closes all connections; resolves when the port is free. */
  close(): Promise<void>;
}

/** Serves `handle` on 127.0.0.1; port 0 takes a free one. */
export function serveLoopback(
  port: number,
  handle: Deno.ServeHandler<Deno.NetAddr>,
): LoopbackServer {
  const closing = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port, signal: closing.signal, onListen: () => {} },
    handle,
  );
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    async close() {
      closing.abort();
      await server.finished;
    },
  };
}
