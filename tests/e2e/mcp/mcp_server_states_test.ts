/** The states of MCP servers as operators see them. */
import assert from "node:assert/strict";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { listTools } from "../../harness/mcp/modern_call.ts";
import { startOneEra } from "../../harness/mcp/one_era.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";

const secret = "planted-3f9d2c";

/** Responds with 503 until it is repaired; then like the server at `url`. */
function startFlapping(url: string) {
  let isRepaired = false;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      if (!isRepaired) return new Response(secret, { status: 503 });
      const { method, headers } = request;
      return await fetch(url, { method, headers, body: await request.text() });
    },
  );
  return {
    host: `127.0.0.1:${server.addr.port}`,
    repair: () => isRepaired = true,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("gwctl proxy mcp and /mcp/servers show each server with its state, era, tools and last error", async () => {
  await using stack = new AsyncDisposableStack();
  const demo = startMcpServer();
  stack.defer(() => demo.close());
  const url = `${demo.origin}/mcp`;
  const { host } = new URL(url);
  const old = stack.use(startOneEra(url, "legacy"));
  const flapping = stack.use(startFlapping(url));
  const route = (name: string, servers: readonly unknown[]) => ({
    name,
    matches: [{ path: { type: "PathPrefix", value: `/${name}` } }],
    policies: {
      urlRewrite: {
        path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/" },
      },
    },
    backends: [{ mcp: { servers } }],
  });
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [
        route("used", [
          { name: "new", url, headers: { "x-key": secret }, tools: ["echo"] },
          { name: "old", url: old.url },
          {
            name: "flapping",
            url: `http://${flapping.host}/mcp?key=${secret}`,
          },
        ]),
        route("other", [{ name: "unused", url }]),
      ],
    },
  });
  const endpoint = `${gateway.origin}/used/mcp`;
  const read = async () => {
    const response = await fetch(`${gateway.admin}/mcp/servers`);
    const text = await response.text();
    assert.equal(text.includes(secret), false);
    return JSON.parse(text).servers;
  };

  await listTools(endpoint);
  const [first, second, failed, unused] = await read();
  const { port } = new URL(gateway.admin);
  const { stdout } = await gatewayCommand({
    args: ["proxy", "mcp", "-p", port],
    asGwctl: true,
  }).output();
  flapping.repair();
  let [, , back] = await read();
  for (const end = Date.now() + 5000; Date.now() < end;) {
    if (back.state === "up") break;
    await listTools(endpoint);
    [, , back] = await read();
  }

  const rows = [first, second, failed, unused].map((
    { name, address, state, era, tools },
  ) => [name, address, state, era, tools]);
  assert.deepEqual(rows, [
    ["new", host, "up", "modern", 1],
    ["old", new URL(old.url).host, "up", "legacy", second.tools],
    ["flapping", flapping.host, "failed", null, null],
    ["unused", host, "unused", null, null],
  ]);
  assert(second.tools > 1);
  assert(Date.parse(first.since) <= Date.now());
  assert.equal(
    failed.lastError,
    'MCP server "flapping" responds with status 503',
  );
  assert.equal(unused.since, null);
  const table = new TextDecoder().decode(stdout);
  assert.match(
    table,
    /^BACKEND +NAME +ADDRESS +STATE +SINCE +ERA +TOOLS +LAST ERROR\n/,
  );
  assert.match(table, /\bnew +127\S+ +up +\S+Z +modern +1 +-\n/);
  assert.match(
    table,
    / flapping .* failed .* responds with status 503 \(\S+Z\)\n/,
  );
  assert.equal(back.state, "up");
  assert.equal(back.era, "modern");
  assert.equal(back.lastError, failed.lastError);
  assert(back.since > failed.since);
});
