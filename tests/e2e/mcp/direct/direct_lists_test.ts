/** Lists that nothing has changed are sent as the same bytes, and anew where something has. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { callModern, listTools } from "../../../harness/mcp/modern_call.ts";
import { messageOf, open } from "./direct_client.ts";
import { eras, startServer, TOOLS } from "./direct_server.ts";

for (const era of eras) {
  Deno.test(`${era} clients get the same bytes of a list each time, with the id of the request`, async () => {
    await using client = await open(era, "json");
    const first = messageOf(await client.list(1));

    const second = await client.list(2);
    const third = await client.list('"');

    const whole = (id: unknown) =>
      first.json.replace('"id":1', () => `"id":${JSON.stringify(id)}`);
    assert.equal(first.result.tools.length, 2 * TOOLS);
    assert.equal(second, whole(2));
    assert.equal(third, whole('"'));
  });
}

Deno.test("a list that is at hand has no tools of a server that has failed since", async () => {
  const alive = startServer("modern", "json");
  const gone = startServer("modern", "json");
  const servers = [
    { name: "a", url: alive.url },
    { name: "b", url: gone.url },
  ];
  await using gateway = await startTestGateway({
    routes: [{ backends: [{ mcp: { servers } }] }],
  });
  const url = `${gateway.origin}/mcp`;
  await listTools(url);
  const before = await listTools(url);
  await gone.server.shutdown();
  await callModern(url, "tools/call", { name: "b_plain", arguments: {} });

  const { result } = await callModern(url, "tools/list");

  assert.equal(before.length, 2 * TOOLS);
  assert.equal(result.tools.length, TOOLS);
  assert.equal(result._meta["gateway/unavailableServers"][0].name, "b");
  await alive.server.shutdown();
});

Deno.test("rules hide tools of a list that is at hand from each client anew", async () => {
  const { server, url: server1 } = startServer("modern", "json");
  const rule =
    "!has(mcp.tool) || mcp.tool.name == 'plain' || request.headers['x-team'] == 'all'";
  await using gateway = await startTestGateway({
    routes: [{
      policies: { authorization: { policy: { matchExpressions: [rule] } } },
      backends: [{ mcp: { servers: [{ name: "a", url: server1 }] } }],
    }],
  });
  const listed = async (team: string) => {
    const headers = { "x-team": team };
    const url = `${gateway.origin}/mcp`;
    const { result } = await callModern(url, "tools/list", {}, { headers });
    return result.tools.length;
  };

  const counts = [];
  for (const team of ["all", "few", "all", "few"]) {
    counts.push(await listed(team));
  }

  assert.deepEqual(counts, [TOOLS, 1, TOOLS, 1]);
  await server.shutdown();
});
