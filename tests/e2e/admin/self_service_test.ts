import assert from "node:assert/strict";
import {
  ADMIN_TOKEN,
  type AdminLoginSite,
  startAdminLoginSite,
} from "../../harness/gateway/admin_login_site.ts";
import {
  keyedPolicies,
  statusOf,
  untilStatus,
} from "../../harness/keys/stored_keys.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

type Json = Record<string, unknown>;

/** `ada` and `paul` are of team blue, `victor`, who is a viewer, is of team red; `mallory` has no team, and `eve` one that does not exist. */
function startSite(
  route: Json = { policies: keyedPolicies },
  settings: Json = {},
): Promise<AdminLoginSite> {
  return startAdminLoginSite({ workers: 2, ...settings }, {
    team:
      "{'ada': 'blue', 'paul': 'blue', 'victor': 'red', 'eve': 'none'}[jwt.sub]",
    route,
  });
}

const ownPage: Record<string, string> = { "sec-fetch-site": "same-origin" };

/** Sends a request of a user, as a page of the admin interface does. */
async function send(
  { admin }: Pick<AdminLoginSite, "admin">,
  action: string,
  cookie: string,
  body?: Json | URLSearchParams,
  headers: Record<string, string> = ownPage,
) {
  const [method = "", path = ""] = action.split(" ");
  const isForm = body instanceof URLSearchParams;
  const response = await fetch(admin + path, {
    method,
    headers: {
      cookie,
      connection: "close",
      ...body !== undefined && !isForm &&
        { "content-type": "application/json" },
      ...headers,
    },
    redirect: "manual",
    ...body !== undefined && { body: isForm ? body : JSON.stringify(body) },
  });
  return {
    status: response.status,
    location: response.headers.get("location"),
    text: await response.text(),
  };
}

/** Changes a team or a user as an administrator. */
async function administer(site: AdminLoginSite, path: string, body: Json) {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const { status, text } = await send(
    site,
    `POST /access/${path}`,
    "",
    body,
    headers,
  );
  assert.equal(status, 200, text);
}

const blue = {
  id: "blue",
  allow: { routes: ["hello"] },
  selfService: {
    maxKeys: 2,
    maxLifetime: "720h",
    budgets: [{ requests: 4, unit: "Days" }],
  },
};

/** Makes a key as a user. */
async function make(site: AdminLoginSite, cookie: string, body: Json = {}) {
  const { status, text } = await send(site, "POST /self/keys", cookie, body);
  assert.equal(status, 200, text);
  const { object, secret } = JSON.parse(text);
  return { id: String(object.id), secret: String(secret), object };
}

Deno.test("users make keys as their team allows, which work at all workers, and see their own keys, budgets and usage", async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 1000 };
  await using upstream = await LlmUpstream.start(() => ({
    contentType: json,
    body: bytesOf(JSON.stringify({ model: "gpt-4o", usage })),
  }));
  await using site = await startSite({
    policies: { apiKeyAuthentication: { stored: true } },
    backends: upstream.backends,
  });
  const origin = `http://127.0.0.1:${site.gateway.port}/v1/chat/completions`;
  const post = {
    method: "POST",
    headers: { "content-type": json },
    body: '{"model":"gpt-4o","messages":[]}',
  };
  await administer(site, "teams", blue);
  const ada = await site.logIn("ada");

  const key = await make(site, ada, { name: "laptop", lifetime: "24h" });
  const statuses = [];
  for (let i = 0; i < 4; i++) {
    statuses.push(await statusOf(origin, key.secret, post));
  }
  const spent = await statusOf(origin, key.secret, post);
  const report = JSON.parse((await send(site, "GET /self/keys", ada)).text);
  const paul = await send(site, "GET /self/keys", await site.logIn("paul"));
  const others = JSON.parse(paul.text).usage.month;
  const revoked = await send(site, `POST /self/keys/${key.id}`, ada, {
    action: "revoke",
  });
  const milliseconds = await untilStatus(origin, key.secret, 401);
  const next = await make(site, ada);
  const stillSpent = await statusOf(origin, next.secret, post);
  const page = await send(site, "GET /self", ada);
  const { changes } = JSON.parse(
    (await send(site, "GET /audit", await site.logIn("vera"))).text,
  );

  assert.deepEqual([...statuses, spent], [200, 200, 200, 200, 429]);
  assert.equal(key.object.team, "blue");
  assert.equal(report.keys.length, 1);
  assert.equal(report.keys[0].name, "laptop");
  assert.equal(report.team.selfService.maxKeys, 2);
  assert(!JSON.stringify(report).includes(key.secret));
  assert.deepEqual(
    report.budgets.map((each: Json) => [each["owner"], each["remaining"]]),
    [[`user ${report.user}`, 0]],
  );
  assert.match(report.budgets[0].resetsAt, /^\d{4}-\d\d-\d\dT00:00:00Z$/);
  for (const [sum] of [report.usage.today, report.usage.month]) {
    assert.deepEqual(
      [sum.key, sum.model, sum.inputTokens, sum.outputTokens],
      [key.id, "gpt-4o", 4000, 4000],
    );
  }
  assert.deepEqual([report.usage.today.length, others], [1, []]);
  assert.equal(revoked.status, 200);
  assert(milliseconds < 10_000);
  // Another key of the same user has no other budget.
  assert.equal(stillSpent, 429);
  assert.match(page.text, new RegExp(`value="${next.id}"`));
  assert.match(page.text, /0 of 4 requests left, starts anew at \d{4}-/);
  for (const part of ["keys", "models", "logins", "budgets", "usage"]) {
    assert.match(page.text, new RegExp(`<a href="#${part}">`));
    assert.match(page.text, new RegExp(` id="${part}"`));
  }
  assert.deepEqual(
    changes.slice(0, 3).map(({ user, outcome }: Json) => [user, outcome]),
    [
      `create key ${next.id}: done`,
      `revoke key ${key.id}: done`,
      `create key ${key.id}: done`,
    ].map((outcome) => [
      { issuer: site.idp.issuer, subject: "ada", name: "ada" },
      outcome,
    ]),
  );
});

Deno.test("a new key and a new budget are on the own page at once, before anything is used", async () => {
  await using site = await startSite();
  await administer(site, "teams", blue);
  const ada = await site.logIn("ada");

  const key = await make(site, ada, { name: "laptop" });
  const first = (await send(site, "GET /self", ada)).text;
  await administer(site, "teams/blue", {
    action: "update",
    budgets: [{ cost: { usd: 5, unit: "Months" } }],
  });
  const second = (await send(site, "GET /self", ada)).text;
  const { budgets, unusedBudgets } = JSON.parse(
    (await send(site, "GET /self/keys", ada)).text,
  );

  assert.match(first, new RegExp(`value="${key.id}"`));
  assert.match(first, /user [^:<]*: 4 requests per day: nothing is used/);
  assert.match(second, /team blue: 5 USD per month: nothing is used/);
  assert.deepEqual(budgets, []);
  assert.deepEqual(unusedBudgets.map(({ amount }: Json) => amount), [
    "5 USD per month",
    "4 requests per day",
  ]);
});

Deno.test("users reach neither keys of others nor more than their team allows", async () => {
  await using site = await startSite();
  await administer(site, "teams", blue);
  await administer(site, "teams", { id: "red" });
  const names = ["ada", "paul", "victor", "eve", "mallory"];
  const [ada = "", paul = "", victor = "", eve = "", mallory = ""] =
    await Promise.all(names.map(site.logIn));
  const key = await make(site, ada);
  const origin = `http://127.0.0.1:${site.gateway.port}`;
  const revoke = { action: "revoke" };
  const create = async (cookie: string, body: Json = {}, headers = ownPage) =>
    (await send(site, "POST /self/keys", cookie, body, headers)).status;
  const statusesOf = (requests: readonly Promise<{ status: number }>[]) =>
    Promise.all(requests.map(async (each) => (await each).status));

  const others = await statusesOf(
    [paul, victor, eve].map((cookie) =>
      send(site, `POST /self/keys/${key.id}`, cookie, revoke)
    ),
  );
  const byForm = await send(
    site,
    "POST /self",
    paul,
    new URLSearchParams({ revoke: key.id }),
  );
  const seen = await Promise.all(
    [paul, victor].map(async (cookie) =>
      (await send(site, "GET /self/keys", cookie)).text
    ),
  );
  const teams = [
    await create(victor),
    await create(eve),
    await create(mallory),
    await create(""),
  ];
  const bodies = [
    await create(ada, { lifetime: "721h" }),
    await create(ada, { team: "red" }),
    await create(ada, { user: "root" }),
    await create(ada, { lifetime: "0s" }),
    await create(ada, { models: ["a*b"] }),
    await create(ada, {
      budgets: [{ requests: 1, unit: "Seconds", notifyAt: [1] }],
    }),
  ];
  const crossSite = [
    await create(ada, {}, { "sec-fetch-site": "cross-site" }),
    await create(ada, {}, { "sec-fetch-site": "same-site" }),
    (await send(
      site,
      "POST /self",
      ada,
      new URLSearchParams({ name: "x" }),
      { origin: "https://evil.example" },
    )).status,
  ];
  const admin = await statusesOf(
    [
      "GET /config_dump",
      "GET /access/keys",
      "POST /access/keys",
      "GET /ui/api/status",
      "GET /usage",
    ]
      .map((action) => send(site, action, ada)),
  );
  // At the same time, too, there are no more than two.
  const many = await Promise.all(
    Array.from({ length: 6 }, () => create(ada)),
  );
  const token = await send(site, "GET /self/keys", "", undefined, {
    authorization: `Bearer ${ADMIN_TOKEN}`,
  });
  const works = await statusOf(origin, key.secret);

  assert.deepEqual(others, [404, 404, 404]);
  assert.equal(byForm.status, 404);
  assert(seen.every((text) => !text.includes(key.id)));
  assert.deepEqual(teams, [403, 403, 403, 401]);
  assert.deepEqual(bodies, [403, 400, 400, 400, 400, 400]);
  assert.deepEqual(crossSite, [403, 403, 403]);
  assert.deepEqual(admin, [403, 403, 403, 403, 403]);
  assert.deepEqual(many.toSorted(), [200, 403, 403, 403, 403, 403]);
  assert.equal(token.status, 403);
  assert.equal(works, 200);
});

Deno.test("a session that has ended and a user who is suspended make no keys, and the page leads to the login", async () => {
  await using site = await startSite();
  await administer(site, "teams", blue);
  const origin = `http://127.0.0.1:${site.gateway.port}`;
  const browser = site.user("ada");
  await browser.open(`${site.admin}/ui/login?self`);
  const ada = browser.jar.fieldFor(new URL(site.admin));

  const page = await send(
    site,
    "POST /self",
    ada,
    new URLSearchParams({ name: "<b>", days: "3", models: "" }),
  );
  const [secret = ""] = /gk_[\w-]{43}/.exec(page.text) ?? [];
  const works = await statusOf(origin, secret);
  const { user } = JSON.parse((await send(site, "GET /self/keys", ada)).text);
  await administer(site, `users/${user}`, { action: "suspend" });
  await untilStatus(origin, secret, 401);
  const suspended = await send(site, "POST /self/keys", ada, {});
  await administer(site, `users/${user}`, { action: "resume" });
  await send(site, "POST /ui/login/logout", ada);
  const afterLogout = await send(site, "POST /self/keys", ada, {});
  const toLogin = await send(site, "GET /self", ada, undefined, {
    "sec-fetch-mode": "navigate",
    "sec-fetch-site": "none",
  });

  assert.equal(page.status, 200);
  assert(!page.text.includes("<b>"));
  assert.equal(works, 200);
  assert.deepEqual([suspended.status, afterLogout.status], [403, 401]);
  assert.deepEqual([toLogin.status, toLogin.location], [
    303,
    "/ui/login?self",
  ]);
});

Deno.test("with Redis, what a user does at one replica holds at the other: keys, their revocation, their number and the session", async () => {
  await using redis = await RedisServer.start();
  await using site = await startSite(undefined, { kv: { redis: redis.url } });
  await using replica = await site.startReplica();
  await administer(site, "teams", blue);
  const origins = [site.gateway.origin, replica.origin];
  const both = [site, replica];
  const ada = await site.logIn("ada");
  const listed = async (at: Pick<AdminLoginSite, "admin">) => {
    const { status, text } = await send(at, "GET /self/keys", ada);
    assert.equal(status, 200, text);
    return JSON.parse(text).keys.map(({ id }: Json) => id);
  };

  const key = await make(site, ada);
  await Promise.all(
    origins.map((origin) => untilStatus(origin, key.secret, 200)),
  );
  const seen = await Promise.all(both.map(listed));
  const made = await Promise.all(
    [...both, ...both].map(async (at) =>
      (await send(at, "POST /self/keys", ada, {})).status
    ),
  );
  const byOther = await send(
    replica,
    `POST /self/keys/${key.id}`,
    await site.logIn("paul"),
    { action: "revoke" },
  );
  const revoked = await send(replica, `POST /self/keys/${key.id}`, ada, {
    action: "revoke",
  });
  await Promise.all(
    origins.map((origin) => untilStatus(origin, key.secret, 401)),
  );
  const left = await Promise.all(both.map(listed));
  await send(replica, "POST /ui/login/logout", ada);
  const ended = await Promise.all(
    both.map(async (at) => (await send(at, "GET /self/keys", ada)).status),
  );

  assert.deepEqual(seen, [[key.id], [key.id]]);
  assert.deepEqual(made.toSorted(), [200, 403, 403, 403]);
  assert.deepEqual([byOther.status, revoked.status], [404, 200]);
  assert(left.every((ids) => ids.length === 1 && ids[0] !== key.id));
  assert.deepEqual(ended, [401, 401]);
});
