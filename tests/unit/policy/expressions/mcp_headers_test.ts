import assert from "node:assert/strict";
import { authorization, decide } from "../authorization.ts";

const call =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"écho"}}';
const encoded = "=?base64?w6ljaG8=?=";

for (
  const [expected, headers, body] of [
    ["pass", { "mcp-method": "tools/call", "mcp-name": encoded }, call],
    ["pass", { "mcp-method": "tools/call" }, call],
    ["pass", { "mcp-method": "tools/list", "mcp-name": "x" }, undefined],
    [
      "pass",
      { "mcp-method": "tasks/get", "mcp-name": "t1" },
      '{"method":"tasks/get","params":{"taskId":"t1"}}',
    ],
    ["bad_request", { "mcp-method": "tools/list" }, call],
    ["bad_request", { "mcp-method": "tools/call, tools/list" }, call],
    ["bad_request", { "mcp-method": "ping" }, '{"id":1,"result":{}}'],
    ["bad_request", { "mcp-name": "other" }, call],
    ["bad_request", { "mcp-name": "=?base64?/?=" }, call],
  ] as const
) {
  Deno.test(`a rule on mcp gives ${expected} for ${JSON.stringify(headers)} and the body ${body}`, async () => {
    const decision = await decide(authorization(["true || has(mcp.tool)"]), {
      method: "POST",
      headers,
      ...(body !== undefined && { body }),
    });

    assert.equal(decision, expected);
  });
}
