import assert from "node:assert/strict";
import { freePort } from "../../harness/process/free_port.ts";
import { mcpClients, visit } from "../../harness/clients/mcp_clients.ts";
import { startCommand } from "../../harness/process/running_command.ts";

Deno.test("MCP clients log in at both identity providers of gateway dev as its guide says", async () => {
  const port = freePort();
  await using playground = startCommand({
    args: ["dev", "--port", `${port}`, "--admin", "off", "--stats", "off"],
  });
  await playground.waitFor(/Press Ctrl-C to stop/);
  const guide = playground.stdout();
  const [, urlA = ""] = /npx mcp-remote (\S+idp-a\/mcp)\n/.exec(guide) ?? [];
  const [, urlB = "", clientId = ""] =
    /npx mcp-remote (\S+idp-b\/mcp) .*"client_id":"([^"]+)"/.exec(guide) ?? [];

  for (const client of mcpClients) {
    const tools = [
      await visit(client, { url: urlA }),
      await visit(client, { url: urlB, clientId }),
    ];

    for (const names of tools) assert(names.includes("echo"), names.join());
  }
  assert.doesNotMatch(guide + playground.stderr(), /oidc-provider/);
});
