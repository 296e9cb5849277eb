import assert from "node:assert/strict";
import {
  type BrowserLoginSite,
  ShiftedClock,
  startBrowserLoginSite,
} from "../../harness/login/browser_login_site.ts";
import { freePort } from "../../harness/process/free_port.ts";
import type { ConnectingUser } from "../../harness/login/connecting_user.ts";

Deno.test("a navigation logs in and comes back to the page, with the claims for rules and no cookie or token for the backend", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start({
    config: { workers: 2 },
    policies: {
      authorization: { policy: { matchExpressions: ["jwt.sub == 'ada'"] } },
    },
  });
  const ada = site.user("ada");
  const bob = site.user("bob");

  const page = await ada.open(`${site.origin}/app/page?a=1%202`);
  const denied = await bob.open(`${site.origin}/app`);

  assert.equal(page.url.href, `${site.origin}/app/page?a=1%202`);
  assert.equal(page.status, 200);
  assert.deepEqual(
    [...headersOf(page.text).keys()].filter((name) =>
      ["cookie", "authorization"].includes(name)
    ),
    [],
  );
  assert.equal(denied.status, 403);
});

Deno.test("requests of scripts and programs get 401 instead of a redirect, others with a session pass", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start();
  const user = site.user("ada");
  const url = `${site.origin}/app`;
  const navigation = { accept: "text/html", "sec-fetch-mode": "navigate" };
  const kinds: readonly (readonly [string, HeadersInit])[] = [
    ["GET", {}],
    ["GET", { accept: "application/json" }],
    ["GET", { accept: "text/html", "sec-fetch-mode": "cors" }],
    ["GET", { accept: "text/html", "x-requested-with": "XMLHttpRequest" }],
    ["HEAD", navigation],
    ["POST", navigation],
    ["GET", { accept: "text/html" }],
    ["GET", navigation],
  ];
  const statuses = async (cookie: string) => {
    const found: number[] = [];
    for (const [method, headers] of kinds) {
      const response = await fetch(url, {
        method,
        headers: { ...headers, cookie },
        redirect: "manual",
      });
      await response.body?.cancel();
      found.push(response.status);
    }
    return found;
  };

  const before = await statuses("");
  await user.open(url);
  const after = await statuses(user.jar.fieldFor(new URL(url)));

  assert.deepEqual(before, [401, 401, 401, 401, 401, 401, 303, 303]);
  assert.deepEqual(after, kinds.map(() => 200));
});

Deno.test("a rule that denies a page shows one, and other requests get JSON", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start({
    policies: {
      authorization: { policy: { matchExpressions: ["jwt.sub == 'ada'"] } },
    },
  });
  const bob = site.user("bob<b>");
  const url = `${site.origin}/app`;

  const page = await bob.open(url);
  const cookie = bob.jar.fieldFor(new URL(url));
  const kinds: readonly HeadersInit[] = [
    { accept: "text/html,application/xhtml+xml,*/*;q=0.8" },
    { accept: "text/html", "sec-fetch-mode": "cors" },
    { accept: "application/json, text/html;q=0.9" },
    { accept: "*/*" },
  ];
  const types: (string | null)[] = [];
  for (const headers of kinds) {
    const response = await fetch(url, { headers: { ...headers, cookie } });
    await response.body?.cancel();
    assert.equal(response.status, 403);
    types.push(response.headers.get("content-type"));
  }
  const next = await bob.submit(page, "", "/oauth2/logout");

  assert.equal(page.status, 403);
  assert.match(page.text, /You may not open this page/);
  assert.match(page.text, /logged in as <strong>bob&#60;b&#62;<\/strong>/);
  assert.deepEqual(types, [
    "text/html; charset=utf-8",
    "application/json",
    "application/json",
    "application/json",
  ]);
  assert.equal(next.url.origin, new URL(bob.idp).origin);
  assert.equal(bob.jar.fieldFor(new URL(url)), "");
});

Deno.test("the access token is forwarded when the configuration asks for it", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start({
    oidc: { forwardAccessToken: true },
  });

  const page = await site.user("ada").open(`${site.origin}/app`);

  assert.match(
    headersOf(page.text).get("authorization") ?? "",
    /^Bearer [\w.-]{20,}$/,
  );
});

Deno.test("a logout ends the session here, at other workers and at the provider", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start({
    config: { workers: 2 },
    oidc: { logout: { redirectUrl: "/bye" } },
  });
  const user = site.user("ada");
  await user.open(`${site.origin}/app`);
  const stolen = user.jar.fieldFor(new URL(site.origin));
  site.idpRequests.length = 0;

  const confirmation = await user.visit(
    `${site.origin}/oauth2/logout`,
    new URLSearchParams(),
  );
  const replays = await Promise.all(
    Array.from({ length: 8 }, () => statusWith(site, stolen)),
  );

  assert.equal(confirmation.url.pathname, "/session/end");
  assert.match(confirmation.url.search, /id_token_hint=/);
  assert.match(
    decodeURIComponent(confirmation.url.search),
    /post_logout_redirect_uri=http:\/\/127\.0\.0\.1:\d+\/bye/,
  );
  assert.equal(user.jar.fieldFor(new URL(site.origin)), "");
  assert.deepEqual(replays, replays.map(() => 401));
});

Deno.test("a logout at the provider ends the session at all workers and replicas", async () => {
  await using site = await startBrowserLoginSite();
  const config = { workers: 2, kv: { path: site.storePath } };
  await using _first = await site.start({ config });
  await using second = await site.start({ config, port: freePort() });
  const ada = site.user("ada");
  const bob = site.user("bob");
  await ada.open(`${site.origin}/app`);
  await bob.open(`${site.origin}/app`);
  const cookies = [ada, bob].map(({ jar }) =>
    jar.fieldFor(new URL(site.origin))
  );
  const seen = () =>
    Promise.all(
      [site.origin, second.origin].flatMap((origin) =>
        cookies.map((cookie) => statusWith({ origin }, cookie))
      ),
    );

  const before = await seen();
  await logOutAtProvider(site, ada);
  const after = await seen();
  const again = await ada.open(`${site.origin}/app`);

  assert.deepEqual(before, [200, 200, 200, 200]);
  assert.deepEqual(after, [401, 200, 401, 200]);
  assert.equal(again.status, 200);
});

Deno.test("sessions end when nobody uses them, and at the latest after their time", async () => {
  await using site = await startBrowserLoginSite();
  const clock = new ShiftedClock();
  await using _gateway = await site.start({
    clock,
    oidc: { session: { idleTimeout: "30m", absoluteTimeout: "1h" } },
  });
  const idle = site.user("ada");
  const active = site.user("bob");
  await idle.open(`${site.origin}/app`);
  await active.open(`${site.origin}/app`);
  const minutes = 60_000;
  const statusOf = async (user: ConnectingUser) => {
    const url = new URL(`${site.origin}/app`);
    const response = await fetch(url, {
      headers: { cookie: user.jar.fieldFor(url) },
    });
    await response.body?.cancel();
    user.jar.store(url, response.headers);
    return response.status;
  };

  clock.shiftMs = 20 * minutes;
  const atFirst = await statusOf(active);
  clock.shiftMs = 40 * minutes;
  const then = [await statusOf(idle), await statusOf(active)];
  clock.shiftMs = 61 * minutes;
  const atLast = await statusOf(active);
  clock.shiftMs = -2 * minutes;
  const ofTheFuture = await statusOf(active);

  assert.deepEqual([atFirst, then, atLast], [200, [401, 200], 401]);
  assert.equal(ofTheFuture, 401);
});

Deno.test("one of several replicas renews the tokens, and a login that the provider has ended is over", async () => {
  await using site = await startBrowserLoginSite();
  const clock = new ShiftedClock();
  const options = {
    clock,
    config: { kv: { path: site.storePath } },
    oidc: {
      scopes: ["offline_access"],
      parameters: { prompt: "consent" },
      forwardAccessToken: true,
      session: { idleTimeout: "12h" },
    },
  };
  await using _first = await site.start(options);
  await using second = await site.start({ ...options, port: freePort() });
  const user = site.user("ada");
  await user.open(`${site.origin}/app`);
  const cookie = user.jar.fieldFor(new URL(site.origin));
  site.idpRequests.length = 0;
  const use = () =>
    Promise.all(
      [site.origin, second.origin, site.origin, second.origin].map((origin) =>
        fetch(`${origin}/app`, { headers: { cookie } })
      ),
    );

  clock.shiftMs = 58 * 60_000;
  const renewed = await use();
  const tokens = await Promise.all(
    renewed.map(async (response) =>
      headersOf(await response.text()).get("authorization")
    ),
  );
  const requests = site.idpRequests.filter((line) => line === "POST /token");
  await site.idp.stop();
  clock.shiftMs = 118 * 60_000;
  const away = await use();
  await Promise.all(away.map((response) => response.body?.cancel()));

  assert.deepEqual(renewed.map(({ status }) => status), [200, 200, 200, 200]);
  assert.equal(new Set(tokens).size, 1);
  assert.equal(requests.length, 1);
  assert.deepEqual(away.map(({ status }) => status), [503, 503, 503, 503]);
});

Deno.test("without a provider, navigations get 503 and no loop", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start();
  await site.idp.stop();

  const page = await site.user("ada").visit(`${site.origin}/app`);

  assert.equal(page.status, 503);
});

Deno.test("an API key or a login: programs and browsers use the same route", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start({
    oidc: { mode: "AnyOf" },
    policies: {
      apiKeyAuthentication: {
        mode: "AnyOf",
        keys: [{ key: "blue-key" }],
      },
    },
  });
  const url = `${site.origin}/app`;
  const withKey = await fetch(url, { headers: { "x-api-key": "blue-key" } });
  await withKey.body?.cancel();
  const withoutAnything = await fetch(url);
  await withoutAnything.body?.cancel();

  const page = await site.user("ada").open(url);
  assert.deepEqual(
    [withKey.status, withoutAnything.status, page.status],
    [200, 401, 200],
  );
});

/** Headers that a backend has received. */
function headersOf(echoed: string): Headers {
  return new Headers(JSON.parse(echoed).headers);
}

async function statusWith(
  { origin }: Pick<BrowserLoginSite, "origin">,
  cookie: string,
): Promise<number> {
  const response = await fetch(`${origin}/app`, {
    headers: { cookie, connection: "close" },
  });
  await response.body?.cancel();
  return response.status;
}

/** Logs a user out on the page of the provider, which tells the gateway. */
async function logOutAtProvider(
  { idp }: BrowserLoginSite,
  user: ConnectingUser,
): Promise<void> {
  const page = await user.visit(`${idp.origin}/session/end`);
  const [, secret = ""] = /name="xsrf" value="([^"]+)"/.exec(page.text) ?? [];
  await user.visit(
    `${idp.origin}/session/end/confirm`,
    new URLSearchParams({ xsrf: secret, logout: "yes" }),
  );
}
