/** Accounts that are connected, and cannot be used: pages, admins and applications learn it. */
import assert from "node:assert/strict";
import { isJsonObject } from "../../../src/base/json.ts";
import {
  backendOf,
  type ConnectingSite,
  sendAs,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import type { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  startUserService,
  type UserService,
} from "../../harness/login/user_service.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { until } from "../../harness/servers/held_upstream.ts";

function startFor(
  site: ConnectingSite,
  service: UserService,
  config: Readonly<Record<string, unknown>> = {},
) {
  return site.startProcess({
    backends: [backendOf(service)],
    backend: { backend: "drive" },
    config: { workers: 2, ...config },
  });
}

async function connect(site: ConnectingSite, name: string) {
  const user = site.user(name);
  const page = await user.connect((await sendAs(site, name)).link);
  assert.match(page.text, /Connected\. You can go back/);
  return user;
}

async function gwctl(
  { admin }: GatewayProcess,
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly text: string }> {
  const { code, stdout, stderr } = await gatewayCommand({
    args: ["ctl", "accounts", ...args, "--admin", new URL(admin).host],
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

async function listed(gateway: GatewayProcess) {
  const { text } = await gwctl(gateway, "list", "-o", "json");
  return JSON.parse(text);
}

Deno.test("an account whose token nobody can renew is used to its end, and its user is asked again", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  await using gateway = await startFor(site, service);
  service.refreshes = false;
  service.lifetime = 50;
  const user = await connect(site, "anna");

  // A minute before the end would be too early.
  const before = await sendAs(site, "anna");
  const [active] = await listed(gateway);
  service.lifetime = 1;
  const other = await connect(site, "ben");
  await until(async () =>
    (await listed(gateway)).some((each: { state: string }) =>
      each.state === "expired"
    )
  );
  const accounts = await listed(gateway);
  const table = await gwctl(gateway, "list");
  const page = await other.open(`${site.origin}/connections`);
  const after = await sendAs(site, "ben");

  assert.deepEqual([before.status, active.state], [200, "active"]);
  const ended = accounts.find(({ subject }: { subject: string }) =>
    subject === "ben"
  );
  assert.equal(ended.state, "expired");
  assert(Date.parse(ended.expiresAt) <= Date.now());
  assert.match(table.text, /default\/drive +expired +ben /);
  assert.match(page.text, /The connection has ended\. Connect again\./);
  assert.match(page.text, /<button name="answer" value="allow">Connect</);
  assert.deepEqual([after.status, after.headers.get("x-gateway-error")], [
    403,
    "connection_required",
  ]);
  service.lifetime = 3600;
  const again = await other.connect(after.link);
  assert.match(again.text, /Connected\. You can go back/);
  assert.equal((await sendAs(site, "ben")).body["subject"], "ben-there");
  assert.match(
    (await user.open(`${site.origin}/connections`)).text,
    /Connect/,
  );
});

/** Damages what is in the vault. */
async function damage({ storePath }: ConnectingSite): Promise<void> {
  using kv = await Deno.openKv(storePath);
  for await (const { key, value } of kv.list({ prefix: ["vault"] })) {
    if (isJsonObject(value)) await kv.set(key, { sealed: "damaged" });
  }
}

Deno.test("an account whose record is damaged is not used, and its user or an admin ends that", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  {
    await using _gateway = await startFor(site, service);
    await connect(site, "anna");
    await connect(site, "ben");
    assert.equal((await sendAs(site, "anna")).status, 200);
  }
  await damage(site);
  await using gateway = await startFor(site, service);

  const denied = await sendAs(site, "anna");
  const user = site.user("anna");
  const page = await user.open(`${site.origin}/connections`);
  const table = await gwctl(gateway, "list");
  const accounts = await listed(gateway);
  await user.connect((await user.submit(page, "allow", "/start")).url);
  const { id } = accounts.find(({ subject }: { subject: string }) =>
    subject === "ben"
  );
  const revoked = await gwctl(gateway, "revoke", id);

  // Another replica may have the key: the user is not sent away.
  assert.deepEqual([denied.status, denied.headers.get("x-gateway-error")], [
    503,
    "credentials_unavailable",
  ]);
  assert.match(page.text, /The connection cannot be read\. Connect again\./);
  for (const name of ["anna", "ben"]) {
    assert.match(table.text, new RegExp(`default/drive +sealed +${name} `));
  }
  assert.doesNotMatch(JSON.stringify(accounts), /tools:read/);
  assert.equal(revoked.code, 0, revoked.text);
  assert.match(revoked.text, /^revoked at the gateway; the authorization/);
  assert.deepEqual(
    (await listed(gateway)).map((each: { subject: string; state: string }) => [
      each.subject,
      each.state,
    ]),
    [["anna", "active"]],
  );
  await until(async () => (await sendAs(site, "anna")).status === 200);
  await until(async () => (await sendAs(site, "ben")).status === 403);
});

Deno.test("users whose accounts no key of the vault opens connect them again, and admins see and revoke these", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  let before: readonly { readonly id: string; readonly subject: string }[] = [];
  {
    await using gateway = await startFor(site, service);
    for (const name of ["anna", "ben", "carl"]) await connect(site, name);
    before = await listed(gateway);
  }
  const idOf = (name: string) =>
    before.find(({ subject }) => subject === name)?.id ?? "";
  const keys = ["another vault key of at least 32 characters"];
  await using gateway = await startFor(site, service, { vault: { keys } });

  const denied = await sendAs(site, "anna");
  const lost = await listed(gateway);
  const table = await gwctl(gateway, "list");
  const ofAnna = await gwctl(gateway, "list", "--subject", "anna");
  const revoked = await gwctl(gateway, "revoke", idOf("ben"));
  const again = await gwctl(gateway, "revoke", idOf("ben"));
  const user = site.user("anna");
  const page = await user.open(`${site.origin}/connections`);
  await user.connect((await user.submit(page, "allow", "/start")).url);

  assert.equal(denied.status, 503);
  assert.match(page.text, /The connection cannot be read\. Connect again\./);
  await until(async () => (await sendAs(site, "anna")).status === 200);
  assert.deepEqual(
    lost.map(({ connectedAt: _, ...each }: Record<string, unknown>) => each),
    before.map(({ id }) => ({ id, state: "sealed" })),
  );
  assert.match(table.text, new RegExp(`${idOf("carl")} +- +sealed +- `));
  assert.match(table.text, /sealed: cannot be opened, since no key/);
  assert.match(ofAnna.text, /No accounts/);
  assert.match(revoked.text, /^revoked at the gateway; the authorization/);
  assert.match(again.text, /no connection has this ID/);
  await until(async () => (await sendAs(site, "ben")).status === 403);
  const states = new Map(
    (await listed(gateway)).map((each: { id: string; state: string }) => [
      each.id,
      each.state,
    ]),
  );
  assert.deepEqual(
    states,
    new Map([[idOf("anna"), "active"], [idOf("carl"), "sealed"]]),
  );
});
