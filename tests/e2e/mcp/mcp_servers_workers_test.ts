/** Sessions and calls that wait for their clients, while each request reaches another worker. */
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { text } from "../../../cli/dev/mcp/offer.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startOneEra } from "../../harness/mcp/one_era.ts";

const ROUNDS = 12;

/** Every request has a connection of its own, so the system spreads them over the workers. */
async function fetchAlone(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(input, { ...init, client });
  const close = () => client.close();
  const body = response.body?.pipeThrough(
    new TransformStream({ flush: close }),
  );
  if (body === undefined) close();
  return new Response(body ?? null, {
    status: response.status,
    headers: response.headers,
  });
}

for (const client of ["legacy", "modern"] as const) {
  Deno.test({
    name:
      `client of the ${client} era is asked, whichever workers its requests reach`,
    // The connections of the last requests end by themselves.
    sanitizeResources: false,
    async fn() {
      const server = startMcpServer();
      await using old = startOneEra(`${server.origin}/mcp`, "legacy");
      await using gateway = await startTestGateway({
        config: { workers: 3 },
        routes: [{
          backends: [{ mcp: { servers: [{ name: "demo", url: old.url }] } }],
        }],
      });
      const mcp = new Client({ name: "test", version: "1.0.0" }, {
        capabilities: { elicitation: {} },
        versionNegotiation: {
          mode: client === "legacy" ? "legacy" : { pin: "2026-07-28" },
        },
      });
      mcp.setRequestHandler("elicitation/create", () => ({
        action: "accept" as const,
        content: { answer: "yes" },
      }));
      const url = new URL(`${gateway.origin}/mcp`);
      const transport = { fetch: fetchAlone };
      await mcp.connect(new StreamableHTTPClientTransport(url, transport));

      for (let round = 0; round < ROUNDS; round++) {
        const { content } = await mcp.callTool({
          name: "ask_user",
          arguments: { question: "What?" },
        });
        assert.deepEqual(content, [text('accept: {"answer":"yes"}')]);
      }

      await mcp.close();
      await server.close();
    },
  });
}
