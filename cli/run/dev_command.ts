import { parseAddress } from "../../src/api/schema/address.ts";
import { textSource } from "../../src/config/configuration_source.ts";
import {
  gatewayConfiguration,
  type PlaygroundAddresses,
  protectedEndpoints,
} from "../dev/gateway_configuration.ts";
import { startIdpA } from "../dev/mock_idp_a.ts";
import { startIdpB } from "../dev/mock_idp_b.ts";
import { startOAuthPage } from "../dev/oauth_page.ts";
import { startPlayground } from "../dev/playground.ts";
import { Failure, UsageError } from "../process/exit.ts";
import { print } from "../output/output.ts";
import { devAddresses } from "./dev_addresses.ts";
import { ListenError, serve } from "./serve.ts";

/**
 * Runs a gateway in front of a demo MCP server and LLM server; returns the exit code after shutdown.
 * @throws {Failure} When a port is in use.
 * @throws {UsageError} When an address is invalid.
 */
export async function runPlayground(
  addresses: PlaygroundAddresses,
): Promise<number> {
  requireAddress("--admin", addresses.admin);
  requireAddress("--stats", addresses.stats);
  requireFreePort(addresses);
  await using playground = startPlayground();
  const guests = ["guest"];
  await using idpA = await startIdpA({ permissions: ["call:mcp"], guests });
  await using idpB = await startIdpB({ roles: ["editor"], guests });
  const servers = { playground, idpA, idpB };
  await using opening = new AsyncDisposableStack();
  const page = opening.adopt(
    startOAuthPage(protectedEndpoints(addresses.port, servers)),
    (page) => page.close(),
  );
  const config = textSource(
    gatewayConfiguration(addresses, servers),
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
      `${error.message}. Select another one with ${
        howTo({
          ...addresses,
          admin: "<address>",
          stats: "<address>",
        })
      }`,
    );
  }
}

/** Validates an address here, as a diagnostic would show a configuration that the user did not write. */
function requireAddress(option: string, text: string): void {
  if (parseAddress(text) !== undefined) return;
  throw new UsageError(
    `Cannot use "${option}": expected "ip:port", "localhost:port", "unix:<path>" or "off", got "${text}"`,
  );
}

/** Checks the port here for a message without reference to a configuration file. */
function requireFreePort(addresses: PlaygroundAddresses): void {
  const { port } = addresses;
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    throw new Failure(
      `Cannot listen on port ${port}: another program uses it. Select another one with ${
        howTo({ ...addresses, port: "<port>" })
      }`,
    );
  }
}

/** Formats the user's command with other addresses; `make run` sets an environment variable. */
function howTo(addresses: Record<keyof PlaygroundAddresses, unknown>): string {
  const options = (["port", "admin", "stats"] as const)
    .filter((name) => addresses[name] !== devAddresses[name])
    .map((name) => `--${name} ${addresses[name]}`).join(" ");
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
Trace a request step by step: start the trace, then send a request.
  curl -N ${admin}/debug/trace
Web UI with failures, limits and more:
  ${admin}/ui
`;
  return `
The gateway is running in front of a demo MCP server and LLM server. Try in another terminal:

Start an MCP session:
  curl -i ${gateway}/mcp -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'

Three MCP servers behind one endpoint. Connect an MCP client to:
  ${gateway}/all/mcp

The same MCP server with login at two identity providers. The MCP client opens a login page:
  npx mcp-remote ${gateway}/idp-a/mcp
  npx mcp-remote ${gateway}/idp-b/mcp --static-oauth-client-info '{"client_id":"${clientId}"}'

The login step by step, with all requests. Open in a browser:
  ${page}

Chat with a model through the OpenAI and Anthropic APIs:
  curl ${gateway}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}'
  curl -N ${gateway}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
  curl ${gateway}/v1/messages -H 'content-type: application/json' -H 'anthropic-version: 2023-06-01' \\
    -d '{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"Hello"}]}'

The same with a rate limit: the fourth request within a minute gets 429 with Retry-After.
  curl -i ${gateway}/limited/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}'
${adminLine}
The access log follows, one line per request. Press Ctrl-C to stop.

`;
}
