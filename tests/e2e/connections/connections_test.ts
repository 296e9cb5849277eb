/** Users log in at services once, and the gateway reaches them as that user. */
import assert from "node:assert/strict";
import {
  backendOf,
  type ConnectingSite,
  sendAs,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import {
  startUserService,
  type UserService,
} from "../../harness/login/user_service.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { until } from "../../harness/servers/held_upstream.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

/** Starts a gateway in front of a service. */
function startFor(
  site: ConnectingSite,
  service: UserService,
  { config = {}, port }: {
    readonly config?: Readonly<Record<string, unknown>>;
    readonly port?: number;
  } = {},
) {
  return site.start({
    backends: [backendOf(service)],
    backend: { backend: "drive" },
    config,
    ...(port !== undefined && { port }),
  });
}

/** Connects the account of a user, who has just been asked to. */
async function connect(site: ConnectingSite, name: string) {
  const user = site.user(name);
  const page = await user.connect((await sendAs(site, name)).link);
  assert.match(page.text, /Connected\. You can go back/);
  return user;
}

function grantsOf({ tokenRequests }: UserService): readonly unknown[] {
  return tokenRequests.map(({ grant_type }) => grant_type);
}

Deno.test("a user connects an account, and each user has an own one", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  await using gateway = await startFor(site, service);

  const before = await sendAs(site, "anna");

  assert.equal(before.status, 403);
  assert.deepEqual(
    ["content-type", "x-gateway-error", "www-authenticate"].map((name) =>
      before.headers.get(name)
    ),
    ["application/problem+json", "connection_required", null],
  );
  assert.match(before.link, /\/connections\/connect\?request=[\w-]+$/);
  await connect(site, "anna");
  const after = await sendAs(site, "anna");
  assert.deepEqual([after.status, after.body], [
    200,
    { subject: "anna-there", scope: "tools:read" },
  ]);
  assert.equal((await sendAs(site, "ben")).status, 403);
  await connect(site, "ben");
  assert.equal((await sendAs(site, "ben")).body["subject"], "ben-there");
  assert.equal((await sendAs(site, "anna")).body["subject"], "anna-there");
  // One client for all, a code for each, and the resource every time.
  const registrations = service.requests.filter((line) =>
    line === "POST /register"
  );
  assert.equal(registrations.length, 1);
  assert.deepEqual(
    service.tokenRequests.map(({ grant_type, resource }) => [
      grant_type,
      resource,
    ]),
    [
      ["authorization_code", service.resource],
      ["authorization_code", service.resource],
    ],
  );
  assert.match(
    gateway.log.join("\n"),
    /Account change user\.issuer=\S+ user\.subject=anna action=connect backend=default\/drive outcome=done/,
  );
});

Deno.test("parameters of the configuration reach the authorization server, such as an audience", async () => {
  await using site = await startConnectingSite();
  await using service = await startUserService();
  await using _ = await site.start({
    backends: [
      backendOf(service, { parameters: { audience: "https://api.example" } }),
    ],
    backend: { backend: "drive" },
  });
  const anna = site.user("anna");
  anna.stopsAt = ({ origin, pathname }) =>
    origin === service.idp.origin && pathname === "/authorize";

  const { url } = await anna.connect((await sendAs(site, "anna")).link);

  const { searchParams } = url;
  assert.equal(searchParams.get("audience"), "https://api.example");
  assert.equal(searchParams.get("resource"), service.resource);
});

Deno.test("a service that needs more rights asks the user for them, and keeps the others", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  await using _gateway = await startFor(site, service);
  const user = await connect(site, "anna");

  const denied = await sendAs(site, "anna", { path: "/api/write" });

  assert.deepEqual([denied.status, denied.body["title"]], [
    403,
    "Grant more rights to drive",
  ]);
  assert(!denied.text.includes("no ey"));
  const page = await user.open(denied.link);
  assert.match(page.text, /Rights<\/dt><dd>.*tools:write/);
  await user.connect(denied.link);
  const { status, body } = await sendAs(site, "anna", { path: "/api/write" });
  assert.equal(status, 200);
  assert.deepEqual(String(body["scope"]).split(" ").sort(), [
    "tools:read",
    "tools:write",
  ]);
});

Deno.test("a token that ends is renewed once, also by workers and processes that share Redis", async () => {
  await using redis = await RedisServer.start();
  await using service = await startUserService();
  await using site = await startConnectingSite();
  const config = { kv: { redis: redis.url }, workers: 2 };
  const port = freePort();
  await using _one = await startFor(site, service, { config });
  await using _two = await startFor(site, service, { config, port });
  const other = `http://127.0.0.1:${port}`;
  // The next token lasts too short to be kept, so that all need another at once.
  service.lifetime = 60;
  await connect(site, "anna");
  service.lifetime = 3600;

  const responses = await Promise.all(
    Array.from(
      { length: 12 },
      (_, index) =>
        sendAs(site, "anna", index % 2 === 0 ? {} : { origin: other }),
    ),
  );

  assert.deepEqual(
    new Set(responses.map(({ status }) => status)),
    new Set([200]),
  );
  assert.deepEqual(grantsOf(service), ["authorization_code", "refresh_token"]);
  const [, renewal] = service.tokenRequests;
  assert.equal(renewal?.["resource"], service.resource);
  const content = await redis.content();
  for (const secret of ["anna", String(renewal?.["refresh_token"])]) {
    assert(!content.includes(secret), `Redis has ${secret}`);
  }
});

Deno.test("a connection that ended at one process ends at the others, without a restart", async () => {
  await using redis = await RedisServer.start();
  await using service = await startUserService();
  await using site = await startConnectingSite();
  const config = { kv: { redis: redis.url } };
  const port = freePort();
  await using _one = await startFor(site, service, { config });
  await using _two = await startFor(site, service, { config, port });
  const other = { origin: `http://127.0.0.1:${port}` };
  const user = await connect(site, "anna");
  assert.equal((await sendAs(site, "anna", other)).status, 200);

  const page = await user.open(`${site.origin}/connections`);
  await user.submit(page, "", "/revoke");

  assert.equal((await sendAs(site, "anna")).status, 403);
  await until(async () => (await sendAs(site, "anna", other)).status === 403);
});

Deno.test("a user sees and ends connections on the page, and the service learns of it", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  await using gateway = await startFor(site, service);
  const user = await connect(site, "anna");

  const page = await user.open(`${site.origin}/connections`);
  assert.match(page.text, /drive.*Account at.*127\.0\.0\.1.*Disconnect/s);
  assert.match(page.text, /Logged in as anna/);
  const ended = await user.submit(page, "", "/revoke");

  assert.match(ended.text, /Disconnected\./);
  assert.match(ended.text, />Connect</);
  assert.equal(
    service.requests.filter((line) => line === "POST /revoke").length,
    2,
  );
  assert.match(
    gateway.log.join("\n"),
    /Account change.*anna.* action=disconnect backend=default\/drive outcome=done/,
  );
  const again = await site.user("ben").open(`${site.origin}/connections`);
  assert.match(again.text, />Connect</);
});

Deno.test("while the authorization server is away, a valid token is used, and users are not asked again", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  await using _gateway = await startFor(site, service);
  service.lifetime = 50;
  await connect(site, "anna");

  service.fault = { status: 503, body: { error: "temporarily_unavailable" } };
  assert.equal((await sendAs(site, "anna")).status, 200);
  assert.equal((await sendAs(site, "anna")).status, 200);

  // One attempt for both.
  assert.equal(service.tokenRequests.length, 2);
});

Deno.test("a refresh token that the server has ended asks the user again", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  await using _gateway = await startFor(site, service);
  service.lifetime = 30;
  const user = await connect(site, "anna");

  service.fault = { status: 400, body: { error: "invalid_grant" } };
  const denied = await sendAs(site, "anna");

  assert.deepEqual([denied.status, denied.body["error"]], [
    403,
    "connection_required",
  ]);
  service.fault = undefined;
  service.lifetime = 3600;
  await user.connect(denied.link);
  assert.equal((await sendAs(site, "anna")).status, 200);
});

Deno.test("a token that the service rejects is renewed once; then the user is asked", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  await using _gateway = await startFor(site, service);
  await connect(site, "anna");
  const seen: string[] = [];
  service.handle = (request) => {
    seen.push(request.headers.get("authorization")?.split(" ")[1] ?? "");
    return new Response("ok");
  };
  await sendAs(site, "anna");

  service.rejected.add(seen[0] ?? "");
  const renewed = await sendAs(site, "anna", {
    method: "POST",
    body: "once more",
  });
  service.rejected.add(seen[1] ?? "");
  const denied = await sendAs(site, "anna");

  assert.deepEqual([renewed.status, denied.status], [200, 403]);
  assert.equal(denied.body["error"], "connection_required");
  assert.deepEqual(grantsOf(service), ["authorization_code", "refresh_token"]);
  assert(!denied.text.includes(seen[1] ?? ""));
});
