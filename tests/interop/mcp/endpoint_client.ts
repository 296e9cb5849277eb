/**
 * The client that conformance scenarios for clients run: between it and their server stands an endpoint for several servers, so they
 * check what the gateway sends. Its arguments are the era of the client and the URL of the server.
 */
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

const [era = "", url = ""] = Deno.args;
const context = JSON.parse(Deno.env.get("MCP_CONFORMANCE_CONTEXT") ?? "{}");

// The server of this one has no calls.
const scenario = Deno.env.get("MCP_CONFORMANCE_SCENARIO");

await using gateway = await startTestGateway({
  routes: [{
    backends: [{
      mcp: { servers: [{ name: "suite", url }], prefix: "Never" },
    }],
  }],
});
const client = new Client({ name: "conformance", version: "1.0.0" }, {
  capabilities: {
    elicitation: { form: { applyDefaults: true } },
    sampling: {},
    roots: {},
  },
  ...(era === "modern" &&
    { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
});
client.setRequestHandler(
  "elicitation/create",
  () => ({ action: "accept", content: {} }),
);
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp`)),
);
const { tools } = await client.listTools();
await readAll();
const calls = scenario === "json-schema-ref-no-deref"
  ? []
  : context.toolCalls ?? tools.map(callOf);
for (const call of calls) await client.callTool(call);
await client.close();

/** Returns a call with arguments that the scenarios expect of a tool. */
function callOf({ name }: { readonly name: string }) {
  const schema = tools.find((tool) => tool.name !== name)?.inputSchema ?? {};
  const input: Record<string, Record<string, unknown>> = {
    add_numbers: { a: 5, b: 3 },
    json_schema_echo: { schema },
  };
  return { name, arguments: input[name] ?? {} };
}

/** Reads what the server offers beside tools. */
async function readAll(): Promise<void> {
  const { resources, prompts } = client.getServerCapabilities() ?? {};
  if (resources !== undefined) {
    for (const { uri } of (await client.listResources()).resources) {
      await client.readResource({ uri });
    }
  }
  if (prompts === undefined) return;
  for (const { name } of (await client.listPrompts()).prompts) {
    await client.getPrompt({ name });
  }
}
