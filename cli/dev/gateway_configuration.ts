import type { Idp } from "./idp/idp.ts";
import type { ProtectedEndpoint } from "./oauth_page.ts";
import type { Playground } from "./playground.ts";

/** Addresses on which the playground's gateway listens. */
export interface PlaygroundAddresses {
  readonly port: number;
  readonly admin: string;
  readonly stats: string;
}

/** Servers behind the gateway. */
export interface Neighbours {
  readonly playground: Playground;
  readonly idpA: Idp;
  readonly idpB: Idp;
}

/** Returns the endpoints of the MCP server behind a login, one for each identity provider. */
export function protectedEndpoints(
  port: number,
  { idpA, idpB }: Neighbours,
): readonly ProtectedEndpoint[] {
  return [
    {
      provider: "IdpA",
      url: `http://localhost:${port}/idp-a/mcp`,
      rule: "'call:mcp' in jwt.permissions",
      idpOrigin: idpA.origin,
    },
    {
      provider: "IdpB",
      url: `http://localhost:${port}/idp-b/mcp`,
      rule: "'editor' in jwt.roles",
      clientId: idpB.clientId,
      idpOrigin: idpB.origin,
    },
  ];
}

/** Returns the configuration of the playground's gateway as JSON, indented for readers of the web UI. */
export function gatewayConfiguration(
  { port, admin, stats }: PlaygroundAddresses,
  neighbours: Neighbours,
): string {
  const { mcpUrl, llmUrl, servers } = neighbours.playground;
  const mcpHost = new URL(mcpUrl).host;
  const { idpA, idpB } = neighbours;
  const settings = {
    IdpA: {
      idp: idpA,
      mcp: { clientId: idpA.clientId, registration: "Gateway" },
    },
    // Its callbacks have `iss`, so strict clients accept no other issuer.
    IdpB: { idp: idpB, mcp: { issuerMode: "Upstream" } },
  };
  const configuration = {
    config: { adminAddr: admin, statsAddr: stats },
    gateways: { default: { port, address: "localhost" } },
    routes: [
      {
        name: "mcp",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        filters: [cors],
        backends: [{ host: mcpHost }],
      },
      {
        name: "servers",
        matches: [{ path: { type: "PathPrefix", value: "/all/mcp" } }],
        filters: [cors],
        backends: [{ mcp: { servers } }],
      },
      ...protectedEndpoints(port, neighbours).map((endpoint) =>
        protectedRoute(endpoint, { mcpHost, ...settings[endpoint.provider] })
      ),
      {
        name: "llm",
        matches: [{ path: { type: "PathPrefix", value: "/v1" } }],
        backends: [{ host: new URL(llmUrl).host }],
      },
      limitedRoute(new URL(llmUrl).host),
    ],
  };
  return JSON.stringify(configuration, undefined, 2);
}

function limitedRoute(llmHost: string) {
  return {
    name: "limited",
    matches: [{ path: { type: "PathPrefix", value: "/limited" } }],
    filters: [{
      type: "URLRewrite",
      urlRewrite: {
        path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/" },
      },
    }],
    backends: [{ host: llmHost }],
    policies: {
      rateLimit: {
        local: [
          { requests: 3, unit: "Minutes" },
          { tokens: 1000, unit: "Hours" },
        ],
      },
    },
  };
}

const cors = {
  type: "CORS",
  cors: {
    allowOrigins: ["*"],
    allowMethods: ["*"],
    // "*" does not include authorization.
    allowHeaders: [
      "authorization",
      "content-type",
      "last-event-id",
      "mcp-protocol-version",
      "mcp-session-id",
    ],
    exposeHeaders: ["Mcp-Session-Id", "WWW-Authenticate"],
  },
};

function protectedRoute(
  { provider, url, rule }: ProtectedEndpoint,
  { mcpHost, idp, mcp }: {
    readonly mcpHost: string;
    readonly idp: Idp;
    readonly mcp: Readonly<Record<string, string>>;
  },
) {
  const { pathname: path, port } = new URL(url);
  const prefixes = [
    path,
    `/.well-known/oauth-protected-resource${path}`,
    `/.well-known/oauth-authorization-server${path}`,
  ];
  return {
    name: path.slice(1).replace("/", "-"),
    matches: prefixes.map((value) => ({
      path: { type: "PathPrefix", value },
    })),
    filters: [cors, {
      type: "URLRewrite",
      urlRewrite: {
        path: { type: "ReplaceFullPath", replaceFullPath: "/mcp" },
      },
    }],
    backends: [{ host: mcpHost }],
    policies: {
      jwtAuthentication: {
        providers: [{
          issuer: idp.issuer,
          audiences: ["localhost", "127.0.0.1"].map((host) =>
            `http://${host}:${port}${path}`
          ),
          jwks: { url: idp.origin + idp.jwksPath },
        }],
        mcp: { provider, ...mcp },
      },
      authorization: { policy: { matchExpressions: [rule] } },
    },
  };
}
