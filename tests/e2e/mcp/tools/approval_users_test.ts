import assert from "node:assert/strict";
import {
  type AdminLoginSite,
  startAdminLoginSite,
} from "../../../harness/gateway/admin_login_site.ts";
import { startDescribedServer } from "../../../harness/mcp/described_server.ts";
import { callModern, listTools } from "../../../harness/mcp/modern_call.ts";

function revoke(
  { admin }: AdminLoginSite,
  cookie: string,
  headers: Readonly<Record<string, string>> = {
    "sec-fetch-site": "same-origin",
  },
): Promise<Response> {
  return fetch(`${admin}/mcp/tools/revoke`, {
    method: "POST",
    headers: { "content-type": "application/json", cookie, ...headers },
    body: JSON.stringify({
      backend: "default/hello/backend0",
      server: "docs",
      tools: ["read"],
    }),
  });
}

async function read({ admin }: AdminLoginSite, path: string, cookie: string) {
  const response = await fetch(admin + path, { headers: { cookie } });
  assert.equal(response.status, 200, path);
  return await response.text();
}

Deno.test("an approval that a user revoked names the user to administrators and in the audit log, not to clients", async () => {
  await using server = startDescribedServer({ read: "Reads a page." });
  await using site = await startAdminLoginSite({}, {
    route: {
      policies: undefined,
      backends: [{
        mcp: {
          lock: { trust: "FirstUse" },
          servers: [{ name: "docs", url: server.url }],
        },
      }],
    },
  });
  const mcp = `${site.gateway.origin}/mcp`;
  while ((await listTools(mcp)).join() !== "read");
  const vera = await site.logIn("vera");
  const olga = await site.logIn("olga");

  const denied = await Promise.all([
    revoke(site, vera),
    revoke(site, olga, { "sec-fetch-site": "cross-site" }),
    revoke(site, ""),
  ]);
  const revoked = await revoke(site, olga);
  while ((await listTools(mcp)).length > 0);
  const { text } = await callModern(mcp, "tools/call", { name: "read" });
  const tools = await read(site, "/mcp/tools", vera);
  const { changes: [last] } = JSON.parse(await read(site, "/audit", vera));

  assert.deepEqual(denied.map(({ status }) => status), [403, 403, 401]);
  assert.equal(revoked.status, 200, await revoked.text());
  assert.match(text, /approval was revoked at [0-9T:.-]+Z/);
  assert.doesNotMatch(text, /olga/);
  assert.match(tools, /"held": "revoked"/);
  assert.match(tools, /olga/);
  assert.deepEqual([last.user.subject, last.role], ["olga", "operator"]);
  for (const each of denied) await each.body?.cancel();
});
