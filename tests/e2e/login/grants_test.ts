/** Grants of issuer mode `Proxied`: clients get tokens of the gateway, which admins see and end. */
import assert from "node:assert/strict";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { protectedConfig } from "../../harness/gateway/protected_gateway.ts";
import {
  loginSteps,
  startProxiedGateway,
} from "../../harness/gateway/proxied_gateway.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

const adminToken = "an-admin-token-of-this-test";

/** Starts a provider, and two replicas with two workers each behind the same URL and store. */
async function startReplicas() {
  const url = `http://127.0.0.1:${freePort()}/mcp`;
  const steps = loginSteps(url);
  const stack = new AsyncDisposableStack();
  const redis = stack.use(await RedisServer.start());
  const idp = stack.use(
    await startIdpA({
      registration: false,
      redirectUris: [`${steps.base}/callback`],
    }),
  );
  const server = stack.adopt(startMcpServer(), (server) => server.close());
  const config = protectedConfig(idp, {
    provider: "IdpA",
    url,
    upstream: server.origin,
    mcp: {
      issuerMode: "Proxied",
      clientId: idp.clientId,
      scopes: ["offline_access", "openid"],
      resourceMetadata: { resource: url },
    },
    config: { kv: { redis: redis.url }, workers: 2, adminToken },
  });
  const one = stack.use(
    await GatewayProcess.start({ config, port: Number(new URL(url).port) }),
  );
  const two = stack.use(await GatewayProcess.start({ config }));
  return {
    steps,
    one,
    two,
    urls: [url, `${two.origin}/mcp`],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function gwctl({ admin }: GatewayProcess, ...args: readonly string[]) {
  const { code, stdout, stderr } = await gatewayCommand({
    args: ["ctl", "grants", ...args, "--admin", new URL(admin).host],
    env: { GATEWAY_ADMIN_TOKEN: adminToken },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

/** Statuses of requests that reach all workers. */
async function statuses(urls: readonly string[], token: unknown) {
  const all = await Promise.all(
    urls.flatMap((url) =>
      Array.from({ length: 6 }, () => initializeMcp({ url }, token))
    ),
  );
  return new Set(all.map(({ status }) => status));
}

Deno.test("gwctl grants lists the clients of users, and logs them out at all workers and replicas within seconds", async () => {
  await using site = await startReplicas();
  const { steps, one, two, urls } = site;
  const client = await steps.registerClient("Editor");
  const log = async (user: string) => {
    const code = await steps.code(client, { account: user });
    return (await steps.redeem(client, code)).body;
  };
  const [anna, again, ben] = [
    await log("anna"),
    await log("anna"),
    await log("ben"),
  ];
  assert.deepEqual(await statuses(urls, anna.access_token), new Set([200]));

  const table = await gwctl(two, "list");
  const found = await gwctl(two, "list", "--user", "anna", "-o", "json");
  const grants = JSON.parse(found.stdout);
  const none = await gwctl(two, "list", "--client", "Another");
  const first = await gwctl(two, "revoke", grants[0].id);
  const revoked = await gwctl(two, "revoke", "--user", "anna");
  const revokedAt = Date.now();
  const refreshed = await steps.refresh(client, anna.refresh_token);
  // Workers that used the token a moment ago believe it for up to five seconds.
  let seen = await statuses(urls, anna.access_token);
  while (seen.has(200)) seen = await statuses(urls, anna.access_token);
  const seconds = (Date.now() - revokedAt) / 1000;
  const repeated = await gwctl(one, "revoke", "--user", "anna");
  const unselected = await gwctl(one, "revoke");
  const audit = await fetch(`${two.admin}/audit`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });

  assert.match(table.stdout, /^ID +SUBJECT +CLIENT +RESOURCE .*USED\n/);
  assert.match(table.stdout, /[0-9a-f]{32} +ben +Editor +http:/);
  assert.equal(grants.length, 2);
  assert.equal(none.stdout, "No grants\n");
  assert.deepEqual([first.code, first.stderr], [0, "revoked: 1\n"]);
  assert.deepEqual([revoked.code, revoked.stderr], [0, "revoked: 1\n"]);
  assert.equal(refreshed.body.error, "invalid_grant");
  assert.deepEqual(seen, new Set([401]));
  assert(seconds < 15, `it took ${seconds} s`);
  assert.deepEqual(await statuses(urls, again.access_token), new Set([401]));
  assert.deepEqual(await statuses(urls, ben.access_token), new Set([200]));
  assert.equal(repeated.code, 1);
  assert.match(repeated.stderr, /no grant is like that/);
  assert.equal(unselected.code, 2);
  assert.match(await audit.text(), /revoked 1 grants: subject=anna/);
  const shown = table.stdout + found.stdout + two.log.all.join("\n");
  for (const token of [anna.access_token, anna.refresh_token]) {
    assert(!shown.includes(String(token)));
  }
});

Deno.test("clients get no token of the provider, and theirs is for one MCP server", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();
  const { body } = await server.redeem(client, await server.code(client));
  const token = String(body.access_token);

  const changed = token.slice(0, -4) + (token.at(-4) === "A" ? "B" : "A") +
    token.slice(-3);
  const { origin } = new URL(server.gateway.url);
  const elsewhere = await fetch(
    `${origin.replace("127.0.0.1", "localhost")}/mcp`,
    { headers: { authorization: `Bearer ${token}` } },
  );
  const forged = await initializeMcp(server.gateway, changed);

  assert.match(token, /^gwt-[\w-]+$/);
  assert.equal(elsewhere.status, 401);
  assert.match(
    elsewhere.headers.get("www-authenticate") ?? "",
    /token is for another MCP server/,
  );
  await elsewhere.body?.cancel();
  assert.equal(forged.status, 401);
  assert.equal((await initializeMcp(server.gateway, token)).status, 200);
});

Deno.test("clients can revoke their access tokens, and no other client can", async () => {
  await using server = await startProxiedGateway();
  const [client, other] = [
    await server.registerClient("one"),
    await server.registerClient("two"),
  ];
  const { body } = await server.redeem(client, await server.code(client));

  await server.revoke(other, body.access_token);
  const kept = await initializeMcp(server.gateway, body.access_token);
  const fresh = await server.refresh(client, body.refresh_token);
  await server.revoke(client, body.access_token);
  const ended = await initializeMcp(server.gateway, fresh.body.access_token);

  assert.deepEqual([kept.status, ended.status], [200, 401]);
});
