import assert from "node:assert/strict";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";

/** Lists the tools of a server behind a gateway whose rules are about scopes and teams. */
async function listTools(hidden: boolean | undefined) {
  const idp = await createTokenIssuer();
  const names = ["open", "write", "admin"];
  const server = serveLoopback(0, async (request) => {
    const { id } = await request.json();
    const tools = names.map((name) => ({
      name,
      inputSchema: { type: "object" },
    }));
    return Response.json({ jsonrpc: "2.0", id, result: { tools } });
  });
  await using gateway = await startTestGateway({
    routes: [{
      policies: {
        jwtAuthentication: {
          providers: [{
            issuer: idp.issuer,
            audiences: ["https://gw.example/mcp"],
            jwks: { inline: jwksOf(idp) },
          }],
          mcp: {},
        },
        authorization: {
          ...(hidden !== undefined && { hidden }),
          policy: {
            matchExpressions: [
              "!has(mcp.tool) || mcp.tool.name != 'write' || 'write' in jwt.scope.split(' ')",
              "!has(mcp.tool) || mcp.tool.name != 'admin' || jwt.team == 'admins'",
            ],
          },
        },
      },
      backends: [{ host: new URL(server.origin).host }],
    }],
  });
  const token = await idp.sign({ scope: "read", team: "users" });
  const send = (method: string, params: object) =>
    fetch(gateway.origin, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  const { result } = await (await send("tools/list", {})).json();
  const called = await send("tools/call", { name: "write", arguments: {} });
  await called.body?.cancel();
  await server.close();
  const tools: readonly { readonly name: string }[] = result.tools;
  return {
    listed: tools.map(({ name }) => name),
    status: called.status,
    challenge: called.headers.get("www-authenticate") ?? "",
  };
}

Deno.test("tools that need another scope are listed on demand, and a call says which scope", async () => {
  const usual = await listTools(undefined);
  const shown = await listTools(false);

  assert.deepEqual(usual.listed, ["open"]);
  assert.deepEqual(shown.listed, ["open", "write"]);
  assert.equal(shown.status, 403);
  assert.match(shown.challenge, /insufficient_scope.*scope="read write"/);
});
