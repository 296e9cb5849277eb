import { textSource } from "../src/config/configuration_source.ts";
import type { Idp } from "./dev/idp/idp.ts";
import { startIdpA } from "./dev/idp_a.ts";
import { startIdpB } from "./dev/idp_b.ts";
import { type Playground, startPlayground } from "./dev/playground.ts";
import { Failure } from "./exit.ts";
import { print } from "./output.ts";
import { ListenError, serve } from "./serve.ts";

/** Where the playground listens. */
export interface PlaygroundAddresses {
  readonly port: number;
  readonly admin: string;
  readonly stats: string;
}

/**
 * Runs a gateway in front of an MCP server and an LLM server of our own; answers the exit code once it is shut down.
 * @throws {Failure} When a port is taken.
 */
export async function runPlayground(
  addresses: PlaygroundAddresses,
): Promise<number> {
  requireFreePort(addresses.port);
  await using playground = startPlayground();
  await using idpA = await startIdpA({ permissions: ["call:mcp"] });
  await using idpB = await startIdpB({ roles: ["editor"] });
  const config = textSource(
    configuration(addresses, playground, { idpA, idpB }),
    "<gateway dev>",
  );
  try {
    return await serve(config, {
      onStarted: ({ admin }) =>
        print(
          guide(`http://localhost:${addresses.port}`, admin, idpB.clientId),
        ),
    });
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    throw new Failure(
      `${error.message}. Choose another with ${
        howTo("--admin <address> --stats <address>")
      }`,
    );
  }
}

function configuration(
  { port, admin, stats }: PlaygroundAddresses,
  { mcpUrl, llmUrl }: Playground,
  { idpA, idpB }: { readonly idpA: Idp; readonly idpB: Idp },
): string {
  const mcpHost = new URL(mcpUrl).host;
  return JSON.stringify({
    config: { adminAddr: admin, statsAddr: stats },
    gateways: { default: { port, address: "localhost" } },
    routes: [
      {
        name: "mcp",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        filters: [cors],
        backends: [{ host: mcpHost }],
      },
      protectedRoute(port, mcpHost, idpA, {
        path: "/idp-a/mcp",
        rule: "'call:mcp' in jwt.permissions",
        mcp: { provider: "IdpA" },
      }),
      protectedRoute(port, mcpHost, idpB, {
        path: "/idp-b/mcp",
        rule: "'editor' in jwt.roles",
        // It names itself in callbacks, so strict clients accept no other issuer.
        mcp: { provider: "IdpB", issuerMode: "Upstream" },
      }),
      {
        name: "llm",
        matches: [{ path: { type: "PathPrefix", value: "/v1" } }],
        backends: [{ host: new URL(llmUrl).host }],
      },
    ],
  });
}

const cors = {
  type: "CORS",
  cors: {
    allowOrigins: ["*"],
    allowMethods: ["*"],
    // A star would not stand for the first of them.
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

/** The MCP server once more, behind a login. */
function protectedRoute(
  port: number,
  mcpHost: string,
  idp: Idp,
  { path, rule, mcp }: {
    readonly path: string;
    readonly rule: string;
    readonly mcp: Readonly<Record<string, string>>;
  },
) {
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
        mcp,
      },
      authorization: { policy: { matchExpressions: [rule] } },
    },
  };
}

/** Said in its own words: a newcomer has no configuration file to look into. */
function requireFreePort(port: number): void {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    throw new Failure(
      `Cannot listen on port ${port}: another program uses it. Choose one with ${
        howTo("--port <port>")
      }`,
    );
  }
}

/** The command that the user typed, with options. `make run` says that it was the one. */
function howTo(options: string): string {
  return Deno.env.get("GATEWAY_STARTED_BY") === "make"
    ? `make run ARGS="${options}"`
    : `"gateway dev ${options}"`;
}

function guide(
  gateway: string,
  [admin]: readonly string[],
  clientId: string,
): string {
  const adminLine = admin === undefined
    ? ""
    : `\nWhat the gateway does with a request, and why:\n  curl ${admin}/config_dump\n`;
  return `
The gateway is running in front of an MCP server and an LLM server. Try, in another terminal:

An MCP session begins:
  curl -i ${gateway}/mcp -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'

The same MCP server behind a login, at two kinds of identity providers. An MCP client opens the page:
  npx mcp-remote ${gateway}/idp-a/mcp
  npx mcp-remote ${gateway}/idp-b/mcp --static-oauth-client-info '{"client_id":"${clientId}"}'

A chat with a model, as the OpenAI and Anthropic clients have it:
  curl ${gateway}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}'
  curl -N ${gateway}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
  curl ${gateway}/v1/messages -H 'content-type: application/json' -H 'anthropic-version: 2023-06-01' \\
    -d '{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"Hello"}]}'
${adminLine}
Each request shows as a line below. Ctrl-C ends everything.

`;
}
