import assert from "node:assert/strict";
import type { DocumentedGateway } from "../gateway/documented_gateway.ts";
import { type McpClient, mcpClients } from "../clients/mcp_clients.ts";
import { logInWithPython, pythonClients } from "./python_clients.ts";

/** Logs in with every client, in TypeScript and Python; each refreshes its token and calls a tool. */
export async function logInWithAll(
  test: Deno.TestContext,
  { url, log }: DocumentedGateway,
): Promise<void> {
  for (const client of mcpClients) {
    await test.step(client.name, () => logInAndRefresh(client, url));
  }
  for (const client of pythonClients) {
    await test.step(client.name, async () => {
      const outcomes = await logInWithPython(client, [{ url, refresh: true }]);

      assert.deepEqual(outcomes, ["refreshed"], log.join("\n"));
    });
  }
}

async function logInAndRefresh(client: McpClient, url: string): Promise<void> {
  await using connection = await client.connect({ url });

  const first = await connection.callTool("echo", { message: "first" });
  await connection.expireToken();
  const again = await connection.callTool("echo", { message: "again" });

  assert.match(first, /first/);
  assert.match(again, /again/);
}
