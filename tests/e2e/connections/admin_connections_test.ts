/** Admins see what users have connected, and disconnect it. */
import assert from "node:assert/strict";
import {
  backendOf,
  type ConnectingSite,
  sendAs,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  startUserService,
  type UserService,
} from "../../harness/login/user_service.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";

const adminToken = "an-admin-token-of-this-test";

/** Starts a gateway with two workers, at which users connect. */
function startFor(site: ConnectingSite, service: UserService) {
  return site.startProcess({
    backends: [backendOf(service)],
    backend: { backend: "drive" },
    config: { adminToken, workers: 2 },
  });
}

async function connect(site: ConnectingSite, name: string): Promise<void> {
  await site.user(name).connect((await sendAs(site, name)).link);
  assert.equal((await sendAs(site, name)).status, 200);
}

async function gwctl({ admin }: GatewayProcess, ...args: readonly string[]) {
  const { code, stdout, stderr } = await gatewayCommand({
    args: [
      ...["ctl", ...args[0] === "audit" ? ["proxy"] : ["accounts"], ...args],
      ...["--admin", new URL(admin).host],
    ],
    env: { GATEWAY_ADMIN_TOKEN: adminToken },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

async function send(
  { admin }: GatewayProcess,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
) {
  const response = await fetch(admin + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "content-type": "application/json", ...headers },
    ...body !== undefined && { body: JSON.stringify(body) },
  });
  return { status: response.status, text: await response.text() };
}

Deno.test("gwctl accounts lists what users have connected, and revokes it in all workers", async () => {
  await using service = await startUserService();
  const tokens: string[] = [];
  service.handle = ({ headers }) => {
    tokens.push(headers.get("authorization")?.split(" ")[1] ?? "");
    return new Response("ok");
  };
  await using site = await startConnectingSite();
  await using gateway = await startFor(site, service);
  await connect(site, "anna");
  await connect(site, "ben");
  // Both workers have the token.
  await Promise.all(Array.from({ length: 8 }, () => sendAs(site, "anna")));

  const table = await gwctl(gateway, "list");
  const found = await gwctl(gateway, "list", "--subject", "anna", "-o", "json");
  const page = await gwctl(gateway, "list", "--limit", "1");
  const [connection] = JSON.parse(found.stdout);
  const revoked = await gwctl(gateway, "revoke", connection.id);
  const after = await Promise.all(
    Array.from({ length: 8 }, () => sendAs(site, "anna")),
  );
  const again = await gwctl(gateway, "revoke", connection.id);
  const audit = await send(gateway, "/audit", {
    authorization: `Bearer ${adminToken}`,
  });
  const { changes } = JSON.parse(audit.text);
  const listed = await gwctl(gateway, "audit");

  assert.match(
    table.stdout,
    /^ID +BACKEND +STATE +SUBJECT +ISSUER .*CONNECTED\n/,
  );
  for (const name of ["anna", "ben"]) {
    assert.match(table.stdout, new RegExp(`default/drive +active +${name} `));
  }
  assert.equal(connection.backend, "default/drive");
  assert.deepEqual(connection.scopes, ["tools:read"]);
  assert.equal(page.stdout.split("\n").length, 3);
  assert.match(page.stderr, /^There are more: --after [0-9a-f]{32}\n$/);
  assert.deepEqual([revoked.code, revoked.stderr], [
    0,
    "revoked, at the authorization server too\n",
  ]);
  assert(service.requests.includes("POST /revoke"));
  for (const { status, link } of after) {
    assert.equal(status, 403);
    assert.match(link, /\/connections\/connect\?request=/);
  }
  assert.equal((await sendAs(site, "ben")).status, 200);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /no connection has this ID/);
  // Of two users, in whichever worker, and of the admin.
  assert.deepEqual(
    changes.map((change: Record<string, unknown>) => change["action"]).slice(
      -2,
    ),
    ["connect default/drive", "connect default/drive"],
  );
  const { at, ...first } = changes.at(-1);
  assert.match(at, /^\d{4}-.*Z$/);
  assert.equal(first.user.subject, "anna");
  assert.deepEqual(
    [first.access, first.outcome, Object.keys(first.user)],
    ["page", "done", ["issuer", "subject"]],
  );
  assert.match(
    listed.stdout,
    /^\S+Z +- +page +- +anna +connect default\/drive +- +done$/m,
  );
  assert.match(
    audit.text,
    /"outcome": "revoked default\/drive of anna at http:[^ ]+: done"/,
  );
  const shown = table.stdout + found.stdout + audit.text +
    gateway.log.all.join("\n");
  for (const token of tokens) assert(token !== "" && !shown.includes(token));
});

Deno.test("nobody without the token, and no page of another site, sees or ends connections", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  await using gateway = await startFor(site, service);
  const authorization = `Bearer ${adminToken}`;
  const path = "/connections/revoke";
  const id = "0".repeat(32);

  const found = [
    await send(gateway, "/connections", {}),
    await send(gateway, path, {}, { id }),
    await send(gateway, path, { authorization, origin: "https://a.example" }, {
      id,
    }),
    await send(gateway, path, { authorization, "content-type": "text/plain" }, {
      id,
    }),
    await send(gateway, path, { authorization }, { id, all: true }),
    await send(gateway, path, { authorization }, { id: "a".repeat(2000) }),
    await send(gateway, "/connections?limit=1001", { authorization }),
    await send(gateway, "/connections?user=anna", { authorization }),
    await send(gateway, path, { authorization }, { id }),
    await send(gateway, "/connections", { authorization }),
  ];

  assert.deepEqual(
    found.map(({ status }) => status),
    [401, 401, 403, 400, 400, 400, 400, 400, 404, 200],
  );
});

Deno.test("without config.connections, admins learn that users cannot connect accounts", async () => {
  await using gateway = await GatewayProcess.start({ config: { routes: [] } });

  const { status, text } = await send(gateway, "/connections", {});

  assert.equal(status, 409);
  assert.match(text, /"config.connections" is not set/);
});
