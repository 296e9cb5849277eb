import assert from "node:assert/strict";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { startIdpB } from "../../../cli/dev/mock_idp_b.ts";
import { logIn } from "../../harness/browser/browser_user.ts";
import { MemoryOAuthProvider } from "../../harness/login/memory_oauth_provider.ts";
import { startProtectedGateway } from "../../harness/gateway/protected_gateway.ts";

const rules = [
  "'mcp:use' in jwt.scope.split(' ')",
  "!has(mcp.tool) || mcp.tool.name == 'add' || ('tool:' + mcp.tool.name) in jwt.scope.split(' ')",
  "!has(mcp.tool) || mcp.tool.name != 'count' || 'admin' in jwt.roles",
];

const scopes = ["mcp:use", "tool:echo", "tool:count"];

/** The parts of a client that both generations have. */
interface Connection {
  connect(): Promise<void>;
  finish(callback: URL): Promise<void>;
  listTools(): Promise<readonly string[]>;
  callTool(name: string): Promise<unknown>;
  close(): Promise<void>;
}

const clients: Readonly<
  Record<string, (url: string, provider: MemoryOAuthProvider) => Connection>
> = {
  "SDK v1": (url, authProvider) => {
    const open = () => new TransportV1(new URL(url), { authProvider });
    const create = () => new ClientV1({ name: "v1", version: "1.0.0" });
    let client = create();
    let transport = open();
    return {
      connect: () => client.connect(transport),
      async finish({ searchParams }) {
        await transport.finishAuth(searchParams.get("code") ?? "");
        await client.close();
        client = create();
        transport = open();
        await client.connect(transport);
      },
      listTools: async () => namesOf(await client.listTools()),
      callTool: (name) =>
        client.callTool({ name, arguments: { message: "hi", a: 1, b: 1 } }),
      close: () => client.close(),
    };
  },
  "client v2": (url, authProvider) => {
    const open = () => new TransportV2(new URL(url), { authProvider });
    const create = () => new ClientV2({ name: "v2", version: "1.0.0" });
    let client = create();
    let transport = open();
    return {
      connect: () => client.connect(transport),
      async finish({ searchParams }) {
        await transport.finishAuth(searchParams);
        await client.close();
        client = create();
        transport = open();
        await client.connect(transport);
      },
      listTools: async () => namesOf(await client.listTools()),
      callTool: (name) =>
        client.callTool({ name, arguments: { message: "hi", a: 1, b: 1 } }),
      close: () => client.close(),
    };
  },
};

function namesOf(
  { tools }: { readonly tools: readonly { readonly name: string }[] },
): readonly string[] {
  return tools.map(({ name }) => name);
}

/** Returns the scopes that the client requested last. */
function requested(provider: MemoryOAuthProvider): readonly string[] {
  return new URL(provider.authorizationUrl).searchParams.get("scope")
    ?.split(" ").filter((scope) => scope !== "offline_access") ?? [];
}

for (const [name, open] of Object.entries(clients)) {
  Deno.test(`${name} requests the scopes that rules demand, then one more for a tool`, async () => {
    const idp = await startIdpB({ scopes });
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpB",
      rules,
      mcp: {
        issuerMode: "Upstream",
        resourceMetadata: { scopesSupported: scopes },
      },
    });
    const provider = new MemoryOAuthProvider({ clientId: idp.clientId });
    const client = open(gateway.url, provider);
    await assert.rejects(() => client.connect());
    assert.deepEqual(requested(provider), ["mcp:use"]);
    await client.finish(await logIn(provider.authorizationUrl));
    assert.deepEqual(await client.listTools(), ["add"]);
    await client.callTool("add");

    await assert.rejects(() => client.callTool("echo"));
    assert.deepEqual(requested(provider), ["mcp:use", "tool:echo"]);
    await client.finish(await logIn(provider.authorizationUrl));
    await client.callTool("echo");
    assert.deepEqual(await client.listTools(), ["echo", "add"]);

    // Another token would not help: nobody is sent to log in.
    const before = provider.authorizationUrl;
    await assert.rejects(() => client.callTool("count"), /403|forbidden/);
    assert.equal(provider.authorizationUrl, before);
    await client.close();
  });
}
