import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { freePort } from "../process/free_port.ts";
import { startTestGateway } from "./gateway.ts";

/** Options of the gateway that protects the MCP server. */
export interface Protection {
  /** Providers whose tokens are accepted too. */
  readonly otherProviders?: readonly unknown[];
  readonly provider: "IdpA" | "IdpB";
  /** Audience of tokens; the URL of the MCP endpoint by default. */
  readonly audience?: string;
  /** Rules of `authorization`; none by default. */
  readonly rules?: readonly string[];
  /** Asks the provider about tokens, without its keys. */
  readonly introspection?: Readonly<Record<string, unknown>>;
  /** Additional fields of `jwtAuthentication.mcp`. */
  readonly mcp?: Readonly<Record<string, unknown>>;
  /** A free port by default. */
  readonly port?: number;
  /** The `config` section; empty by default. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Additional Kubernetes resources. */
  readonly resources?: readonly unknown[];
  /** Allowed origins of web pages; `*` by default. */
  readonly allowOrigins?: readonly string[];
}

/** A gateway in front of an MCP server, with its identity provider. */
export interface ProtectedGateway extends AsyncDisposable {
  /** Endpoint of the MCP server at the gateway. */
  readonly url: string;
  readonly origin: string;
  /** The access log so far. */
  readonly accessLog: readonly string[];
  /** All requests in the order of completion, such as `POST /mcp 401`. */
  requests(): string[];
}

/** Starts gateway and MCP server; disposing also stops `idp`. */
export async function startProtectedGateway(
  idp: Idp,
  { port = freePort(), resources = [], ...protection }: Protection,
): Promise<ProtectedGateway> {
  await using opening = new AsyncDisposableStack();
  opening.use(idp);
  const server = opening.adopt(startMcpServer(), (server) => server.close());
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}/mcp`;
  const { accessLog } = opening.use(
    await startTestGateway(
      protectedConfig(idp, { ...protection, url, upstream: server.origin }),
      { port },
      resources,
    ),
  );
  const open = opening.move();
  return {
    url,
    origin,
    accessLog,
    requests: () => accessLog.map(shorten),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** An MCP server, and its URL for clients. */
export interface ProtectedServer
  extends Omit<Protection, "port" | "resources"> {
  readonly url: string;
  /** Origin of the server itself. */
  readonly upstream: string;
}

/** Returns the configuration of a gateway that protects an MCP server. */
export function protectedConfig(
  idp: Pick<Idp, "issuer" | "origin" | "jwksPath">,
  {
    provider,
    url,
    upstream,
    audience = url,
    rules = [],
    mcp = {},
    allowOrigins = ["*"],
    config = {},
    otherProviders = [],
    introspection,
  }: ProtectedServer,
): Readonly<Record<string, unknown>> {
  return {
    config,
    routes: [{
      name: "mcp",
      matches: prefixes.map((value) => ({
        path: { type: "PathPrefix", value },
      })),
      filters: [{ type: "CORS", cors: { ...cors, allowOrigins } }],
      backends: [{ host: new URL(upstream).host }],
      policies: {
        jwtAuthentication: {
          providers: [...otherProviders, {
            issuer: idp.issuer,
            audiences: [audience],
            ...introspection === undefined
              ? { jwks: { url: idp.origin + idp.jwksPath } }
              : { introspection },
          }],
          mcp: {
            provider,
            ...(otherProviders.length > 0 && { issuer: idp.issuer }),
            ...mcp,
          },
        },
        ...(rules.length > 0 &&
          { authorization: { policy: { matchExpressions: rules } } }),
      },
    }],
  };
}

const prefixes = [
  "/mcp",
  "/.well-known/oauth-protected-resource/mcp",
  "/.well-known/oauth-authorization-server/mcp",
];

const cors = {
  allowMethods: ["GET", "POST", "DELETE"],
  allowHeaders: [
    "authorization",
    "content-type",
    "mcp-protocol-version",
    "mcp-session-id",
  ],
  exposeHeaders: ["Mcp-Session-Id", "WWW-Authenticate"],
};

function shorten(line: string): string {
  const value = (name: string) =>
    new RegExp(` http\\.${name}=(\\S+)`).exec(line)?.[1];
  return `${value("method")} ${value("path")} ${value("status")}`;
}
