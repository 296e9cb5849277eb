import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/client/auth"
import { UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import {
  Client as ClientV2,
  type ClientOptions,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
} from "@modelcontextprotocol/client";
import { logIn } from "../browser/browser_user.ts";
import { freePort } from "../process/free_port.ts";
import { McpRemoteProcess } from "./mcp_remote_process.ts";
import { MemoryOAuthProvider } from "../login/memory_oauth_provider.ts";

/** Options of a client. */
export interface Visit {
  readonly url: string;
  /** Skips registration. */
  readonly clientId?: string;
  /** The URL of its client ID metadata document, which is its ID at providers that support such documents. */
  readonly clientMetadataUrl?: string;
  /** The default scope that it requests. */
  readonly scope?: string;
}

/** A connected client; disposing ends its session. */
export interface McpConnection extends AsyncDisposable {
  /** Returns the names of the tools. */
  listTools(): Promise<readonly string[]>;
  /** Calls a tool and returns its result as JSON. */
  callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
  ): Promise<string>;
  /** Makes the access token expire; the client notices with its next request. */
  expireToken(): void | Promise<void>;
}

/** A real MCP client, configured with the URL only. */
export interface McpClient {
  readonly name: string;
  /** Logs in if required, and opens a session. */
  connect(visit: Visit): Promise<McpConnection>;
}

/** Connects, returns the names of the tools, and disconnects. */
export async function visit(
  client: McpClient,
  visit: Visit,
): Promise<readonly string[]> {
  await using connection = await client.connect(visit);
  return await connection.listTools();
}

/** The first generation of the TypeScript SDK. */
export const sdkV1: McpClient = {
  name: "MCP SDK v1",
  async connect({ url, ...identity }) {
    const authProvider = new MemoryOAuthProvider(identity);
    const open = () => new TransportV1(new URL(url), { authProvider });
    const first = open();
    let transport = first;
    const client = new ClientV1({ name: "sdk-v1", version: "1.0.0" });
    try {
      await client.connect(first);
    } catch (error) {
      if (!(error instanceof UnauthorizedV1)) throw error;
      const callback = await logIn(authProvider.authorizationUrl);
      await first.finishAuth(readCode(callback));
      transport = open();
      await client.connect(transport);
    }
    return asConnection(client, transport, authProvider);
  },
};

/** The second generation, which compares issuers strictly. */
export const clientV2 = createClientV2("MCP client v2", {});

/** The second generation with MCP 2026-07-28: it has no session, and begins with `server/discover`. */
export const statelessClient = createClientV2("MCP client v2 of 2026-07-28", {
  versionNegotiation: { mode: { pin: "2026-07-28" } },
});

function createClientV2(name: string, options: ClientOptions): McpClient {
  return {
    name,
    async connect({ url, ...identity }) {
      const authProvider = new MemoryOAuthProvider(identity);
      const open = () => new TransportV2(new URL(url), { authProvider });
      const first = open();
      let transport = first;
      const client = new ClientV2(
        { name: "client-v2", version: "1.0.0" },
        options,
      );
      try {
        await client.connect(first);
      } catch (error) {
        if (!(error instanceof UnauthorizedV2)) throw error;
        const callback = await logIn(authProvider.authorizationUrl);
        await first.finishAuth(callback.searchParams);
        transport = open();
        await client.connect(transport);
      }
      return asConnection(client, transport, authProvider);
    },
  };
}

/** Adapts a client of either generation. */
function asConnection(
  client: {
    listTools(): Promise<
      { readonly tools: readonly { readonly name: string }[] }
    >;
    callTool(
      call: { name: string; arguments: Record<string, unknown> },
    ): Promise<unknown>;
    close(): Promise<void>;
  },
  transport: { terminateSession(): Promise<void> },
  authProvider: MemoryOAuthProvider,
): McpConnection {
  return {
    async listTools() {
      const { tools } = await client.listTools();
      return tools.map(({ name }) => name);
    },
    async callTool(name, input) {
      return JSON.stringify(
        await client.callTool({ name, arguments: { ...input } }),
      );
    },
    expireToken: () => authProvider.expireToken(),
    async [Symbol.asyncDispose]() {
      await transport.terminateSession();
      await client.close();
    },
  };
}

/** The bridge from standard input and output: a process that waits for the browser on a loopback port. */
export const mcpRemote: McpClient = {
  name: "mcp-remote",
  async connect({ url, clientId, clientMetadataUrl, scope }) {
    const flag = (
      name: string,
      value: unknown,
    ) => [name, JSON.stringify(value)];
    await using opening = new AsyncDisposableStack();
    const bridge = opening.use(
      await McpRemoteProcess.start([
        url,
        String(freePort()),
        ...clientId === undefined
          ? []
          : flag("--static-oauth-client-info", { client_id: clientId }),
        ...scope === undefined
          ? []
          : flag("--static-oauth-client-metadata", { scope }),
        ...clientMetadataUrl === undefined
          ? []
          : ["--client-metadata-url", clientMetadataUrl],
      ]),
    );
    await bridge.logIn();
    await bridge.initialize();
    opening.move();
    return bridge;
  },
};

/** All MCP clients. */
export const mcpClients: readonly McpClient[] = [sdkV1, clientV2, mcpRemote];

function readCode(callback: URL): string {
  const code = callback.searchParams.get("code");
  if (code === null) throw new Error(`Cannot log in: ${callback.search}`);
  return code;
}
