import { parseAddress } from "../src/api/schema/address.ts";
import { textSource } from "../src/config/configuration_source.ts";
import {
  gatewayConfiguration,
  type PlaygroundAddresses,
  protectedEndpoints,
} from "./dev/gateway_configuration.ts";
import { startIdpA } from "./dev/mock_idp_a.ts";
import { startIdpB } from "./dev/mock_idp_b.ts";
import { startOAuthPage } from "./dev/oauth_page.ts";
import { startPlayground } from "./dev/playground.ts";
import { Failure, UsageError } from "./process/exit.ts";
import { print } from "./output/output.ts";
import { ListenError, serve } from "./serve.ts";

/**
 * Runs a gateway in front of an MCP server and an LLM server of our own; answers the exit code once it is shut down.
 * @throws {Failure} When a port is taken.
 * @throws {UsageError} When an address is none.
 */
export async function runPlayground(
  addresses: PlaygroundAddresses,
): Promise<number> {
  requireAddress("--admin", addresses.admin);
  requireAddress("--stats", addresses.stats);
  requireFreePort(addresses.port);
  await using playground = startPlayground();
  const guests = ["guest"];
  await using idpA = await startIdpA({ permissions: ["call:mcp"], guests });
  await using idpB = await startIdpB({ roles: ["editor"], guests });
  const neighbours = { playground, idpA, idpB };
  await using opening = new AsyncDisposableStack();
  const page = opening.adopt(
    startOAuthPage(protectedEndpoints(addresses.port, neighbours)),
    (page) => page.close(),
  );
  const config = textSource(
    gatewayConfiguration(addresses, neighbours),
    "<gateway dev>",
  );
  try {
    return await serve(config, {
      onStarted: ({ admin }) =>
        print(guide({
          gateway: `http://localhost:${addresses.port}`,
          admin: admin[0],
          clientId: idpB.clientId,
          page: `${page.origin}/`,
        })),
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

/** A mistake here would be shown in a configuration that the user never wrote. */
function requireAddress(option: string, text: string): void {
  if (parseAddress(text) !== undefined) return;
  throw new UsageError(
    `Cannot use "${option}": expected "ip:port", "localhost:port", "unix:<path>" or "off", got "${text}"`,
  );
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

function guide({ gateway, admin, clientId, page }: {
  readonly gateway: string;
  readonly admin: string | undefined;
  readonly clientId: string;
  readonly page: string;
}): string {
  const adminLine = admin === undefined ? "" : `
What the gateway does with a request, step by step: begin to watch, then send one.
  curl -N ${admin}/debug/trace
Why requests failed, what is left of the limits, and more, in a browser:
  ${admin}/ui
`;
  return `
The gateway is running in front of an MCP server and an LLM server. Try, in another terminal:

An MCP session begins:
  curl -i ${gateway}/mcp -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'

The same MCP server behind a login, at two kinds of identity providers. An MCP client opens the page:
  npx mcp-remote ${gateway}/idp-a/mcp
  npx mcp-remote ${gateway}/idp-b/mcp --static-oauth-client-info '{"client_id":"${clientId}"}'

That login step by step, every request shown. Open in a browser:
  ${page}

A chat with a model, as the OpenAI and Anthropic clients have it:
  curl ${gateway}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}'
  curl -N ${gateway}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
  curl ${gateway}/v1/messages -H 'content-type: application/json' -H 'anthropic-version: 2023-06-01' \\
    -d '{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"Hello"}]}'

The same with a limit: the fourth within a minute is a 429, which says when to come back.
  curl -i ${gateway}/limited/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}'
${adminLine}
Each request shows as a line below. Ctrl-C ends everything.

`;
}
