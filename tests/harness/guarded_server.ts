import { serveLoopback } from "../../cli/dev/loopback_server.ts";
import { fetchRaw } from "./fetch_raw.ts";
import type { Documents } from "./reloadable_gateway.ts";

/** What tokens for the guarded server carry as `aud`. */
export const audience = "https://gw.example/mcp";

/** A server that only requests with a good token may reach. */
export interface GuardedServer extends AsyncDisposable {
  readonly host: string;
  /** The `Authorization` of each request that reached it; `null` when it had none. */
  readonly reached: (string | null)[];
}

/** Starts a server that notes who comes through. */
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

/** How the route to the server is guarded. */
export interface Guard {
  readonly issuer: string;
  /** Where the keys are. */
  readonly jwks: unknown;
  readonly mode?: string;
  /** The `mcp` block, if there is one. */
  readonly mcp?: Readonly<Record<string, unknown>>;
  /** Members of the short form beside its route. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** The short form with one guarded route. */
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

/** What a caller of the guarded server gets to see. */
export interface GuardedAnswer {
  readonly status: number;
  readonly challenge: string | undefined;
  readonly retryAfter: string | undefined;
}

/** Calls the MCP endpoint of a gateway on a connection of its own. */
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
