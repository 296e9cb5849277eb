/** `gwctl mcp servers`, and tools behind an API key. */
import assert from "node:assert/strict";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";

Deno.test("gwctl mcp tools and call send an API key, and servers shows what they have used", async () => {
  const server = startMcpServer();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => server.close());
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{
        policies: {
          apiKeyAuthentication: { keys: [{ key: "planted-key-2c8a" }] },
        },
        backends: [{
          mcp: {
            prefix: "Never",
            servers: [
              { name: "demo", url: `${server.origin}/mcp` },
              { name: "gone", url: `http://127.0.0.1:${freePort()}/mcp` },
            ],
          },
        }],
      }],
    },
  });
  const url = `${gateway.origin}/mcp`;
  const { port } = new URL(gateway.admin);
  const run = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await gatewayCommand({
      args: ["mcp", ...args],
      env: { MCP_KEY: "planted-key-2c8a" },
      asGwctl: true,
    }).output();
    const decoder = new TextDecoder();
    return [code, decoder.decode(stdout), decoder.decode(stderr)] as const;
  };
  const key = ["--api-key-env", "MCP_KEY"];

  const [listed, tools, warning] = await run("tools", url, ...key);
  const [called, result] = await run(
    "call",
    url,
    "echo",
    '{"message":"hi"}',
    ...key,
  );
  const [missing, , problem] = await run("tools", url, "--api-key-env", "NONE");
  const [keyless, , rejected] = await run("tools", url);
  const [nowhere, , wrong] = await run("tools", `${server.origin}/wrong`);
  const [shown, servers] = await run("servers", "-p", port);

  assert.equal(listed, 0);
  assert.match(tools, /^echo {2}/m);
  assert.match(warning, /^MCP server missing: gone: is not reachable$/m);
  assert.equal(called, 0);
  assert.match(result, /hi/);
  assert.notEqual(missing, 0);
  assert.match(problem, /Environment variable "NONE" is not set/);
  assert.equal(keyless, 1);
  assert.match(rejected, / an API key with --api-key-env <name>, or run /);
  assert.equal(nowhere, 1);
  assert.match(
    wrong,
    /^gwctl: Cannot use \S+\/wrong: status 404.* There is no MCP endpoint /,
  );
  assert.equal(shown, 0);
  assert.match(servers, / demo +127\S+ +up /);
  assert.match(servers, / gone .* is not reachable: .*connection refused/i);
});

Deno.test("gwctl mcp call shows why a limit rejects it, and when to retry", async () => {
  const server = startMcpServer();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => server.close());
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{
        policies: {
          rateLimit: {
            local: [{ requests: 1, unit: "Hours" }],
          },
        },
        backends: [{
          mcp: { servers: [{ name: "demo", url: `${server.origin}/mcp` }] },
        }],
      }],
    },
  });

  const { code, stderr } = await gatewayCommand({
    args: ["mcp", "call", `${gateway.origin}/mcp`, "echo", "{}"],
    asGwctl: true,
  }).output();

  assert.equal(code, 1);
  assert.match(
    new TextDecoder().decode(stderr),
    /status 429.*limit.*retry after [0-9]+ s; if this is your gateway, "gwctl explain [0-9a-f-]{36}" shows why$/im,
  );
});

const rule = "!has(mcp.tool) || mcp.tool.name != 'echo'";

for (const denial of ["Http403", "JsonRpc"]) {
  Deno.test(`gwctl mcp call names the command that explains a denial, as ${denial}`, async () => {
    const server = startMcpServer();
    await using stack = new AsyncDisposableStack();
    stack.defer(() => server.close());
    await using gateway = await GatewayProcess.start({
      config: {
        routes: [{
          policies: {
            authorization: {
              denial,
              policy: { matchExpressions: [rule] },
            },
          },
          backends: [{
            mcp: { servers: [{ name: "demo", url: `${server.origin}/mcp` }] },
          }],
        }],
      },
    });
    const run = async (...args: readonly string[]) => {
      const { stdout, stderr } = await gatewayCommand({ args, asGwctl: true })
        .output();
      const decoder = new TextDecoder();
      return decoder.decode(stdout) + decoder.decode(stderr);
    };
    const { port } = new URL(gateway.admin);

    const denied = await run("mcp", "call", `${gateway.origin}/mcp`, "echo");
    const [, id = ""] = /"gwctl explain (\S+)" shows why/.exec(denied) ?? [];

    assert.match(denied, /not allowed/);
    assert.match(
      await run("explain", id, "-p", port),
      /mcp\.tool\.name is "echo"/,
    );
  });
}
