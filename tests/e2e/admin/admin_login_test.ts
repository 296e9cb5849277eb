import assert from "node:assert/strict";
import {
  ADMIN_TOKEN,
  type AdminLoginSite,
  startAdminLoginSite,
} from "../../harness/gateway/admin_login_site.ts";

const names = ["vera", "olga", "anna", "mallory"] as const;

/** Requests of pages of the admin interface itself. */
async function send(
  { admin }: Pick<AdminLoginSite, "admin">,
  action: string,
  cookie: string,
  headers: Record<string, string> = { "sec-fetch-site": "same-origin" },
) {
  const [method = "", path = ""] = action.split(" ");
  const response = await fetch(admin + path, {
    method,
    headers: { cookie, connection: "close", ...headers },
    redirect: "manual",
  });
  return {
    status: response.status,
    headers: response.headers,
    text: await response.text(),
  };
}

Deno.test("users of the admin interface may do what their role allows, and changes name their user", async () => {
  await using site = await startAdminLoginSite();
  const cookies = await Promise.all(names.map(site.logIn));
  const statusesOf = async (action: string) => {
    const responses = await Promise.all(
      ["", ...cookies].map((cookie) => send(site, action, cookie)),
    );
    return responses.map(({ status }) => status);
  };

  const statuses = {
    read: await statusesOf("GET /config_dump"),
    change: await statusesOf("POST /logging?level=debug"),
    source: await statusesOf("GET /ui/api/source"),
    heap: await statusesOf("HEAD /debug/pprof/heap"),
    unknown: await statusesOf("GET /nowhere"),
    page: await statusesOf("GET /ui/"),
  };
  const [viewer = "", , admin = ""] = cookies;
  const { changes } = JSON.parse((await send(site, "GET /audit", viewer)).text);
  const { role, user, readOnly, hasSource } = JSON.parse(
    (await send(site, "GET /ui/api/status", viewer)).text,
  );
  const token = await fetch(`${site.admin}/config_dump`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  await token.body?.cancel();
  const withWrongToken = await send(site, "GET /config_dump", admin, {
    authorization: "Bearer wrong-token-wrong",
  });

  assert.deepEqual(statuses, {
    read: [401, 200, 200, 200, 403],
    change: [401, 403, 200, 200, 403],
    source: [401, 403, 403, 200, 403],
    heap: [401, 403, 403, 405, 403],
    unknown: [401, 403, 403, 404, 403],
    page: [200, 200, 200, 200, 200],
  });
  assert.deepEqual(
    changes.map((
      { access, user, role, status, outcome }: Record<string, unknown>,
    ) => [access, user, role, status, outcome]),
    [
      ["anna", "admin", 200, "done"],
      ["olga", "operator", 200, "done"],
      ["vera", "viewer", 403, "rejected"],
    ].map(([subject, role, status, outcome]) => [
      "login",
      { issuer: site.idp.issuer, subject, name: subject },
      role,
      status,
      outcome,
    ]),
  );
  assert.deepEqual(
    [role, user.name, readOnly, hasSource],
    ["viewer", "vera", true, false],
  );
  assert.deepEqual([token.status, withWrongToken.status], [200, 401]);
  const [line = ""] = site.gateway.log.all.filter((each) =>
    each.includes("Administrative change") && each.includes("olga")
  );
  assert.match(line, /role=operator|"role":"operator"/);
});

Deno.test("other pages use no session of the admin interface, and logouts end it", async () => {
  await using site = await startAdminLoginSite({ adminToken: undefined });
  const cookie = await site.logIn("anna");
  const foreign = [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://evil.example" },
    { origin: "http://localhost:3000" },
    {},
  ];

  const refused = await Promise.all(
    foreign.map((headers) =>
      send(site, "POST /logging?level=debug", cookie, headers)
    ),
  );
  const embedded = await send(site, "GET /config_dump", cookie, {
    "sec-fetch-site": "same-site",
  });
  const linkToLogout = await send(site, "GET /ui/login/logout", cookie, {
    "sec-fetch-site": "cross-site",
    "sec-fetch-dest": "document",
  });
  const still = await send(site, "GET /config_dump", cookie);
  const anonymous = await send(site, "GET /config_dump", "");
  const out = await send(site, "GET /ui/login/logout", cookie);
  const over = await send(site, "GET /config_dump", cookie);

  assert.deepEqual(refused.map(({ status }) => status), [
    403,
    403,
    403,
    403,
    403,
  ]);
  assert.deepEqual([embedded.status, linkToLogout.status], [403, 403]);
  assert.equal(still.status, 200);
  assert.equal(
    anonymous.headers.get("www-authenticate"),
    'Cookie realm="gateway admin", login="login"',
  );
  assert.deepEqual([out.status, over.status], [303, 401]);
});

Deno.test("a session that the provider has ended is over at the admin interface", async () => {
  await using site = await startAdminLoginSite();
  const user = site.user("anna");
  await user.open(`${site.admin}/ui/login`);
  const cookie = user.jar.fieldFor(new URL(site.admin));

  const before = await send(site, "GET /config_dump", cookie);
  const page = await user.visit(`${site.idp.origin}/session/end`);
  const [, secret = ""] = /name="xsrf" value="([^"]+)"/.exec(page.text) ?? [];
  await user.visit(
    `${site.idp.origin}/session/end/confirm`,
    new URLSearchParams({ xsrf: secret, logout: "yes" }),
  );
  const after = await send(site, "GET /config_dump", cookie);

  assert.deepEqual([before.status, after.status], [200, 401]);
});
