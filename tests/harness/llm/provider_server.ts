/** A request as a provider received it. */
export interface ProviderRequestSeen {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: string;
  /** Aborted when the gateway disconnects before the response. */
  readonly signal: AbortSignal;
}

/** A server in place of an LLM provider, which remembers its requests. */
export interface ProviderServer extends AsyncDisposable {
  /** Such as `127.0.0.1:40123`. */
  readonly host: string;
  readonly requests: readonly ProviderRequestSeen[];
}

/** Starts a server that responds to every request with the result of `respond`. */
export function startProvider(
  respond: (request: ProviderRequestSeen) => Response | Promise<Response> =
    () => Response.json({}),
): ProviderServer {
  const requests: ProviderRequestSeen[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const seen = {
        method: request.method,
        target: pathname + search,
        headers: request.headers,
        body: await request.text(),
        signal: request.signal,
      };
      requests.push(seen);
      return await respond(seen);
    },
  );
  return {
    host: `127.0.0.1:${server.addr.port}`,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
