import assert from "node:assert/strict";
import { startLoginCluster } from "../../harness/login/login_cluster.ts";
import { mcpClients } from "../../harness/clients/mcp_clients.ts";

for (const client of mcpClients) {
  Deno.test({
    name:
      `${client.name} goes on through two gateways that restart, and after a key was replaced under its key ID`,
    // The SDKs leave the bodies and timers of streams that break with a gateway.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using cluster = await startLoginCluster({
        gateways: 2,
        shared: "config.kv",
      });
      await using connection = await client.connect({ url: cluster.url });
      assert((await connection.listTools()).includes("echo"));

      await cluster.restart();
      assert((await connection.listTools()).includes("echo"));
      await cluster.idp.rotateKeys("same");
      await connection.expireToken();

      assert((await connection.listTools()).includes("echo"));
      const logins = cluster.accessLog.filter((line) =>
        /mcp\/callback .*http\.status=303/.test(line)
      );
      assert.equal(logins.length, 1, cluster.accessLog.join(""));
    },
  });
}
