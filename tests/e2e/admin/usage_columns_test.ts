import assert from "node:assert/strict";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

const month = new Date().toISOString().slice(0, 7);

async function startGateway(upstream: LlmUpstream, origin: string) {
  return await GatewayProcess.start({
    config: {
      config: { kv: { path: ":memory:" } },
      routes: [{
        name: "tools",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        policies: { apiKeyAuthentication },
        backends: [{
          mcp: { servers: [{ name: "demo", url: `${origin}/mcp` }] },
        }],
      }, {
        name: "llm",
        policies: { apiKeyAuthentication },
        backends: upstream.backends,
      }],
    },
  });
}

const apiKeyAuthentication = {
  keys: ["blue", "=red"].map((team) => ({
    key: `key-of-${team}`,
    metadata: { team, user: "anna", tag: "research" },
  })),
};

async function post(url: string, team: string, body: unknown) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "x-api-key": `key-of-${team}`,
      "content-type": json,
    },
    body: JSON.stringify(body),
  });
  await response.body?.cancel();
  return response.status;
}

Deno.test("usage is added up by team, user, tag, model, provider, server and tool, by day and month, as JSON and CSV", async () => {
  await using upstream = await LlmUpstream.start(() => ({
    contentType: json,
    body: bytesOf(JSON.stringify({
      model: "gpt-4o",
      usage: { prompt_tokens: 1000, completion_tokens: 1000 },
    })),
  }));
  const server = startMcpServer();
  await using gateway = await startGateway(upstream, server.origin);
  const chat = { model: "gpt-4o", messages: [] };
  const path = `${gateway.origin}/v1/chat/completions`;
  for (const team of ["blue", "blue", "=red"]) {
    assert.equal(await post(path, team, chat), 200);
  }
  const mcp = `${gateway.origin}/mcp`;
  const headers = { "x-api-key": "key-of-blue" };
  const call = { name: "add", arguments: { a: 1, b: 2 } };
  for (let i = 0; i < 3; i++) {
    await callModern(mcp, "tools/call", call, { headers });
  }
  // A call that the server rejects is none.
  assert.equal(await post(mcp, "blue", { jsonrpc: "2.0", id: 1 }), 400);
  const read = async (query: string) =>
    await (await fetch(`${gateway.admin}/usage?${query}`)).text();
  const sums = async (query: string) =>
    JSON.parse(await read(query)).usage.map((
      { name, period, requests, costUsd }: Readonly<Record<string, unknown>>,
    ) => [period, name, requests, costUsd]);

  assert.deepEqual(await sums("by=team,model&per=month&month=current"), [
    [month, "blue, gpt-4o", 2, 0.025],
    [month, "=red, gpt-4o", 1, 0.0125],
  ]);
  assert.deepEqual(await sums("by=server,tool"), [
    [undefined, "demo, add", 3, 0],
  ]);
  assert.deepEqual(await sums("by=tag,user,provider"), [
    [undefined, "research, anna, openai", 3, 0.0375],
  ]);
  const [day] = await sums("by=team&per=day&since=7d");
  assert.equal(String(day?.[0]).slice(0, 7), month);
  assert.deepEqual(await sums("by=team&month=2001-01"), []);
  assert.equal(
    await read("by=team,model&since=24h&format=csv"),
    "team,model,requests,clientErrors,serverErrors,inputTokens,outputTokens,uncounted,costUsd\r\n" +
      "blue,gpt-4o,2,0,0,2000,2000,0,0.025\r\n" +
      "'=red,gpt-4o,1,0,0,1000,1000,0,0.0125\r\n",
  );
  for (
    const wrong of [
      "by=teem",
      "by=key,user,team,tag,model",
      "month=2026-13",
      "month=current&since=1d",
      "from=yesterday",
      "per=week",
      "format=xml",
    ]
  ) {
    const response = await fetch(`${gateway.admin}/usage?${wrong}`);
    assert.equal(response.status, 400, wrong);
    await response.body?.cancel();
  }

  const { stdout } = await gatewayCommand({
    args: [
      ...["ctl", "proxy", "usage", "--by", "team", "--month", "-o", "csv"],
      ...["--admin", new URL(gateway.admin).host],
    ],
  }).output();
  assert.match(new TextDecoder().decode(stdout), /\r\nblue,5,0,0,2000,/);
  await server.close();
});
