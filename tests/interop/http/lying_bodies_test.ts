import assert from "node:assert/strict";
import {
  type BodyServer,
  startExpressLlm,
  startOfficialMcpServer,
} from "../../harness/clients/body_servers.ts";
import { compareBodies } from "../../harness/clients/body_comparison.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";

const accept = "application/json, text/event-stream";
const hiddenTool =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"_x":"+ACI-,+ACI-name+ACI-:+ACI-drop_table"}}';
const hiddenModel = '{"model":"small","_x":"+ACI-,+ACI-model+ACI-:+ACI-large"}';

/** Starts a gateway whose route has those policies, in front of a server. */
function guard(
  { port }: BodyServer,
  policies: Readonly<Record<string, unknown>>,
): Promise<TestGateway> {
  const backends = [{ host: `127.0.0.1:${port}` }];
  return startTestGateway({ routes: [{ policies, backends }] });
}

async function post(
  origin: string,
  path: string,
  contentType: string,
  body: string,
) {
  const headers = { accept, "content-type": contentType };
  const response = await fetch(origin + path, {
    method: "POST",
    headers,
    body: new TextEncoder().encode(body),
  });
  await response.body?.cancel();
  return response.status;
}

function rule(action: "Allow" | "Deny", ...matchExpressions: string[]) {
  return { authorization: { action, policy: { matchExpressions } } };
}

const policiesOnTools: readonly Readonly<Record<string, unknown>>[] = [
  rule("Deny", "mcp.tool.name == 'drop_table'"),
  rule("Allow", "mcp.tool.name == 'echo'"),
  {
    rateLimit: {
      local: [{
        requests: 9,
        unit: "Hours",
        when: "mcp.tool.name == 'drop_table'",
      }],
    },
  },
  {
    transformation: {
      request: {
        set: [{ name: "x-tool", value: "json(request.body).params.name" }],
      },
    },
  },
];

for (const policies of policiesOnTools) {
  const what = JSON.stringify(policies).slice(0, 90);
  Deno.test(`the official MCP server gets no other tool than the gateway read: ${what}`, async () => {
    await using server = await startOfficialMcpServer();
    await using gateway = await guard(server, policies);
    const call = (charset: string) =>
      post(
        gateway.origin,
        "/mcp",
        `application/json${charset}`,
        hiddenTool,
      );

    assert.equal(await call("; charset=utf-7"), 415);
    assert.deepEqual(server.seen, []);
    assert.equal(await call("; charset=utf-8"), 200);
    assert.deepEqual(server.seen, ["echo"]);
  });
}

Deno.test("the official MCP server obeys a charset of UTF-7 where no rule reads the body", async () => {
  await using server = await startOfficialMcpServer();
  await using gateway = await guard(server, {});

  await post(
    gateway.origin,
    "/mcp",
    "application/json; charset=utf-7",
    hiddenTool,
  );

  assert.deepEqual(server.seen, ["drop_table"]);
});

for (
  const policies of [
    rule("Allow", "llm.requestModel == 'small'"),
    { rateLimit: { local: [{ tokens: 1000, unit: "Hours" }] } },
  ]
) {
  const what = JSON.stringify(policies).slice(0, 90);
  Deno.test(`Express gets no other model than the gateway read: ${what}`, async () => {
    await using server = await startExpressLlm();
    await using gateway = await guard(server, policies);
    const chat = (type: string) =>
      post(gateway.origin, "/v1/chat/completions", type, hiddenModel);

    assert.equal(await chat("application/json; charset=utf-7"), 415);
    assert.deepEqual(server.seen, []);
    assert.equal(await chat("application/json"), 200);
    assert.deepEqual(server.seen, ["small"]);
  });
}

for (
  const [name, start, path, field] of [
    [
      "the official MCP server",
      startOfficialMcpServer,
      "/mcp",
      "mcp.tool.name",
    ],
    [
      "Express",
      startExpressLlm,
      "/v1/chat/completions",
      "llm.requestModel",
    ],
  ] as const
) {
  Deno.test(`${name} sees in generated bodies what the gateway saw, or nothing`, async () => {
    await using server = await start();

    const { compared, agreed } = await compareBodies({
      port: server.port,
      path,
      field,
    });

    assert.ok(compared > 500 && agreed > 20, `${agreed} of ${compared}`);
  });
}
