/** Limits and rules by server and tool, and where reports name them. */
import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { startDescribedServer } from "../../harness/mcp/described_server.ts";
import { callModern, listTools } from "../../harness/mcp/modern_call.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";

async function ctl(gateway: GatewayProcess, ...args: readonly string[]) {
  const { port } = new URL(gateway.admin);
  const { stdout } = await gatewayCommand({
    args: [...args, "-p", port],
    asGwctl: true,
  }).output();
  return new TextDecoder().decode(stdout);
}

async function readJson(gateway: GatewayProcess, path: string) {
  return await (await fetch(gateway.admin + path)).json();
}

for (const workers of [0, 2]) {
  Deno.test(`limits, rules and reports know server and tool, ${workers} workers`, async () => {
    await using docs = startDescribedServer({ read: "Reads.", find: "Finds." });
    await using mail = startDescribedServer({ send: "Sends.", drop: "Drops." });
    await using gateway = await GatewayProcess.start({
      config: {
        ...(workers > 0 && { config: { workers } }),
        routes: [{
          name: "tools",
          policies: {
            authorization: {
              denial: "JsonRpc",
              policy: {
                matchExpressions: [
                  "!has(mcp.tool) || mcp.tool.name != 'mail_drop'",
                ],
              },
            },
            rateLimit: {
              local: [
                {
                  requests: 2,
                  unit: "Hours",
                  when: "has(mcp.tool)",
                  key: "mcp.tool.name",
                },
                {
                  requests: 3,
                  unit: "Hours",
                  when: "has(mcp.tool)",
                  key: "mcp.server",
                },
              ],
            },
          },
          backends: [{
            mcp: {
              servers: [
                { name: "docs", url: docs.url },
                { name: "mail", url: mail.url },
              ],
            },
          }],
        }],
      },
    });
    const url = `${gateway.origin}/mcp`;
    const call = async (name: string) =>
      (await callModern(url, "tools/call", { name })).status;

    const listed = await listTools(url);
    const statuses = [];
    for (
      const name of [
        ...["docs_read", "docs_read", "docs_read", "docs_find", "docs_find"],
        ...["mail_send", "mail_drop", "mail_none"],
      ]
    ) statuses.push(await call(name));
    const byTool = await ctl(gateway, "proxy", "usage", "--by", "tool");
    const byServer = await ctl(gateway, "proxy", "usage", "--by", "server");
    const { rows } = await readJson(gateway, "/traffic?by=tool");
    const { requests } = await readJson(
      gateway,
      "/requests?status=failed&mcpServer=mail&mcpTool=drop",
    );
    const [{ id }] = requests;
    const explained = await ctl(gateway, "explain", id);
    const metrics = await (await fetch(`${gateway.stats}/metrics`)).text();

    assert.deepEqual(listed, ["docs_find", "docs_read", "mail_send"]);
    // A tool has two calls, a server three: the third of "read", and the second of "find" are too many.
    assert.deepEqual(statuses, [200, 200, 429, 200, 429, 200, 200, 200]);
    // Those that were denied are no calls.
    assert.match(byTool, /^docs_read +2 /m);
    assert.doesNotMatch(byTool, /mail_drop/);
    assert.match(byServer, /^docs +3 [^]*^mail +2 /m);
    assert.deepEqual(
      rows.find(({ name }: { name: string }) => name === "docs_find")
        ?.clientErrors,
      1,
    );
    assert.equal(requests.length, 1);
    assert.match(explained, /^mcp {5}server mail, tool mail_drop$/m);
    const count = (tool: string, result: string) =>
      new RegExp(
        `^gateway_mcp_calls_total\\{backend="tools/backend0",server="[a-z]+",tool="${tool}",result="${result}"\\} (\\d+)$`,
        "m",
      ).exec(metrics)?.[1];
    assert.deepEqual(
      [count("docs_read", "ok"), count("docs_find", "ok"), count("", "error")],
      ["2", "1", "1"],
    );
    assert.match(
      metrics,
      /^gateway_mcp_call_duration_seconds_count\{backend="tools\/backend0",server="docs"\} 3$/m,
    );
    assert.doesNotMatch(metrics, /mail_none|mail_drop/);
  });
}
