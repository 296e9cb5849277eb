import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";

const call = {
  jsonrpc: "2.0",
  method: "tools/call",
  params: { name: "echo" },
};

const cases = [
  { name: "a number", body: { ...call, id: 7 }, id: 7 },
  { name: "a string", body: { ...call, id: "a" }, id: "a" },
  { name: "none", body: call, id: undefined },
  {
    name: "two",
    body: JSON.stringify({ ...call, id: 1 }).replace("{", '{"id":2,'),
    id: undefined,
  },
];

for (const { name, body, id } of cases) {
  Deno.test(`gateway answers headers that contradict an MCP message with the error of MCP; its id: ${name}`, async () => {
    await using upstream = new RawUpstream(() => Promise.resolve());
    await using gateway = await startTestGateway({
      routes: [{
        policies: {
          authorization: {
            action: "Allow",
            policy: { matchExpressions: ["mcp.tool.name == 'echo'"] },
          },
        },
        backends: [{ host: `127.0.0.1:${upstream.port}` }],
      }],
    });

    const response = await fetch(gateway.origin, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "mcp-method": "tools/call",
        "mcp-name": "drop_table",
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });

    assert.equal(response.status, 400);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(await response.json(), {
      jsonrpc: "2.0",
      ...(id !== undefined && { id }),
      error: {
        code: -32020,
        message: "Header mismatch: Mcp-Name contradicts the body",
      },
    });
  });
}

Deno.test("gateway removes headers that a backend could take for those of MCP", async () => {
  let seen: readonly string[] = [];
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ headers }) => {
      seen = [...headers.keys()].filter((name) => name.startsWith("mcp"));
      return new Response("{}");
    },
  );
  await using gateway = await startTestGateway({
    routes: [{
      policies: {
        authorization: {
          action: "Allow",
          policy: { matchExpressions: ["mcp.tool.name == 'echo'"] },
        },
      },
      backends: [{ host: `127.0.0.1:${upstream.addr.port}` }],
    }],
  });

  const response = await fetch(gateway.origin, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "Mcp_Method": "tools/call",
      "Mcp-Name": "echo",
      "mcp_name": "drop_table",
    },
    body: JSON.stringify({ ...call, id: 1 }),
  });

  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.deepEqual(seen, ["mcp-name"]);
});
