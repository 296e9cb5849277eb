import { type Address, parseAddress } from "../../src/api/schema/address.ts";
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
import { print, printError } from "../output/output.ts";
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
  const admin = readAddress("--admin", addresses.admin);
  const stats = readAddress("--stats", addresses.stats);
  requireFreePorts(addresses, { admin, stats });
  await printError(
    "Starting demo MCP servers, an LLM server, two identity providers and the gateway…\n",
  );
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
function readAddress(option: string, text: string): Address {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  throw new UsageError(
    `Cannot use "${option}": expected "ip:port", "localhost:port", "unix:<path>" or "off", got "${text}"`,
  );
}

/** Checks all ports here for one message without reference to a configuration file. */
function requireFreePorts(
  addresses: PlaygroundAddresses,
  servers: Readonly<Record<"admin" | "stats", Address>>,
): void {
  const hosts = ["127.0.0.1"];
  const gateway = { kind: "tcp", hosts, port: addresses.port } as const;
  const busy = Object.entries({ port: gateway, ...servers }).flatMap(
    ([option, address]) =>
      address.kind === "tcp" && isBusy(address)
        ? [{ option, port: address.port }]
        : [],
  );
  if (busy.length === 0) return;
  const chosen = Object.fromEntries(
    busy.map((
      { option },
    ) => [option, option === "port" ? "<port>" : "<address>"]),
  );
  const ports = busy.map(({ port }) => port).join(" and ");
  throw new Failure(
    busy.length === 1
      ? `Cannot listen on port ${ports}: another program uses it. Select another one with ${
        howTo({ ...addresses, ...chosen })
      }`
      : `Cannot listen on ports ${ports}: other programs use them. Select others with ${
        howTo({ ...addresses, ...chosen })
      }`,
  );
}

function isBusy({ hosts, port }: Extract<Address, { kind: "tcp" }>): boolean {
  return hosts.some((hostname) => {
    try {
      Deno.listen({ hostname, port }).close();
      return false;
    } catch (error) {
      return error instanceof Deno.errors.AddrInUse;
    }
  });
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
