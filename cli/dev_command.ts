import { textSource } from "../src/config/configuration_source.ts";
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
  const config = textSource(
    configuration(addresses, playground),
    "<gateway dev>",
  );
  try {
    return await serve(config, {
      onStarted: ({ admin }) =>
        print(guide(`http://localhost:${addresses.port}`, admin)),
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
): string {
  return JSON.stringify({
    config: { adminAddr: admin, statsAddr: stats },
    gateways: { default: { port, address: "localhost" } },
    routes: [
      {
        name: "mcp",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        filters: [{
          type: "CORS",
          cors: {
            allowOrigins: ["*"],
            allowMethods: ["*"],
            allowHeaders: ["*"],
            exposeHeaders: ["Mcp-Session-Id"],
          },
        }],
        backends: [{ host: new URL(mcpUrl).host }],
      },
      {
        name: "llm",
        matches: [{ path: { type: "PathPrefix", value: "/v1" } }],
        backends: [{ host: new URL(llmUrl).host }],
      },
    ],
  });
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

function guide(gateway: string, [admin]: readonly string[]): string {
  const adminLine = admin === undefined
    ? ""
    : `\nWhat the gateway does with a request, and why:\n  curl ${admin}/config_dump\n`;
  return `
The gateway is running in front of an MCP server and an LLM server. Try, in another terminal:

An MCP session begins:
  curl -i ${gateway}/mcp -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'

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
