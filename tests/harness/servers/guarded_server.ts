import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { fetchRaw } from "../clients/fetch_raw.ts";
import type { Documents } from "../gateway/reloadable_gateway.ts";

/** The `aud` of tokens for the guarded server. */
export const audience = "https://gw.example/mcp";

/** An upstream server for requests with a valid token only. */
export interface GuardedServer extends AsyncDisposable {
  readonly host: string;
  /** The `Authorization` of each received request; `null` without one. */
  readonly reached: (string | null)[];
}

/** Starts a server that records the requests. */
export function startGuardedServer(): GuardedServer {
  const reached: (string | null)[] = [];
  const server = serveLoopback(0, async (request) => {
    reached.push(request.headers.get("authorization"));
    await request.body?.cancel();
    return Response.json({ ok: true });
  });
  return {
    host: new URL(server.origin).host,
    reached,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** The protection of the route to the server. */
export interface Guard {
  readonly issuer: string;
  /** The source of the keys. */
  readonly jwks: unknown;
  readonly mode?: string;
  /** The `mcp` block, if any. */
  readonly mcp?: Readonly<Record<string, unknown>>;
  /** Additional members of the short form. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Returns the short form with one guarded route. */
export function guardedRoute(
  { host }: { readonly host: string },
  { issuer, jwks, mode, mcp, more = {} }: Guard,
): Documents[0] {
  return {
    ...more,
    routes: [{
      name: "mcp",
      matches: [
        "/mcp",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server/mcp",
      ].map((value) => ({ path: { type: "PathPrefix", value } })),
      backends: [{ host }],
      policies: {
        jwtAuthentication: {
          providers: [{ issuer, audiences: [audience], jwks }],
          ...(mode && { mode }),
          ...(mcp && { mcp }),
        },
      },
    }],
  };
}

/** The response of the guarded server to a caller. */
export interface GuardedAnswer {
  readonly status: number;
  readonly challenge: string | undefined;
  readonly retryAfter: string | undefined;
}

/** Calls the MCP endpoint of a gateway on a new connection. */
export async function callMcp(
  { origin }: { readonly origin: string },
  token?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<GuardedAnswer> {
  const response = await fetchRaw(`${origin}/mcp`, {
    method: "POST",
    headers: token === undefined
      ? headers
      : { ...headers, authorization: `Bearer ${token}` },
    body: "{}",
  });
  const only = (name: string) => [response.headers[name]].flat()[0];
  return {
    status: response.status,
    challenge: only("www-authenticate"),
    retryAfter: only("retry-after"),
  };
}
