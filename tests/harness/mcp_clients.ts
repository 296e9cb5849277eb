import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/client/auth"
import { UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
} from "@modelcontextprotocol/client";
import { logIn } from "./browser_user.ts";
import { freePort } from "./free_port.ts";
import { McpRemoteProcess } from "./mcp_remote_process.ts";
import { MemoryOAuthProvider } from "./memory_oauth_provider.ts";

/** What a client is started with. */
export interface Visit {
  readonly url: string;
  /** Skips registration. */
  readonly clientId?: string;
}

/** A real MCP client, which knows nothing but the URL. */
export interface McpClient {
  readonly name: string;
  /** Connects, logs in when asked to, and answers the names of the tools it sees. */
  visit(visit: Visit): Promise<readonly string[]>;
}

/** The first generation of the TypeScript SDK. */
export const sdkV1: McpClient = {
  name: "MCP SDK v1",
  async visit({ url, clientId }) {
    const authProvider = new MemoryOAuthProvider(clientId);
    const open = () => new TransportV1(new URL(url), { authProvider });
    const first = open();
    const client = new ClientV1({ name: "sdk-v1", version: "1.0.0" });
    try {
      await client.connect(first);
    } catch (error) {
      if (!(error instanceof UnauthorizedV1)) throw error;
      const callback = await logIn(authProvider.authorizationUrl);
      await first.finishAuth(readCode(callback));
      await client.connect(open());
    }
    const { tools } = await client.listTools();
    await client.close();
    return tools.map(({ name }) => name);
  },
};

/** The second generation, which compares issuers strictly. */
export const clientV2: McpClient = {
  name: "MCP client v2",
  async visit({ url, clientId }) {
    const authProvider = new MemoryOAuthProvider(clientId);
    const open = () => new TransportV2(new URL(url), { authProvider });
    const first = open();
    const client = new ClientV2({ name: "client-v2", version: "1.0.0" });
    try {
      await client.connect(first);
    } catch (error) {
      if (!(error instanceof UnauthorizedV2)) throw error;
      const callback = await logIn(authProvider.authorizationUrl);
      await first.finishAuth(callback.searchParams);
      await client.connect(open());
    }
    const { tools } = await client.listTools();
    await client.close();
    return tools.map(({ name }) => name);
  },
};

/** The bridge from standard input and output, in a process of its own that waits for the browser on a loopback port. */
export const mcpRemote: McpClient = {
  name: "mcp-remote",
  async visit({ url, clientId }) {
    const identity = clientId === undefined
      ? []
      : ["--static-oauth-client-info", JSON.stringify({ client_id: clientId })];
    await using bridge = await McpRemoteProcess.start([
      url,
      String(freePort()),
      ...identity,
    ]);
    await bridge.logIn();
    await bridge.initialize();
    return await bridge.listTools();
  },
};

/** All of them. */
export const mcpClients: readonly McpClient[] = [sdkV1, clientV2, mcpRemote];

function readCode(callback: URL): string {
  const code = callback.searchParams.get("code");
  if (code === null) throw new Error(`Cannot log in: ${callback.search}`);
  return code;
}
