import assert from "node:assert/strict";
import {
  type BrowserLoginSite,
  startBrowserLoginSite,
} from "../../harness/login/browser_login_site.ts";
import { startScriptedProvider } from "../../harness/login/scripted_provider.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

/** Sends a request as a browser with cookies does; does not follow redirects. */
async function send(
  url: string | URL,
  cookie = "",
  init: RequestInit & { readonly headers?: Record<string, string> } = {},
) {
  const response = await fetch(url, {
    redirect: "manual",
    ...init,
    headers: { cookie, connection: "close", ...init.headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    location: response.headers.get("location") ?? "",
    text: await response.text(),
  };
}

const navigation = { headers: { accept: "text/html" } };

/** Logs in up to the point where the provider sends the browser back; returns that URL. */
async function callbackOf(site: BrowserLoginSite, name: string) {
  const user = site.user(name);
  user.stopsAt = ({ pathname }) => pathname === "/oauth2/callback";
  const { url } = await user.open(`${site.origin}/app`);
  assert.equal(url.pathname, "/oauth2/callback");
  return { url, user, cookie: user.jar.fieldFor(url) };
}

Deno.test("a login counts only in the browser that has started it, once, with its own state and issuer", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start();
  const attacker = await callbackOf(site, "mallory");
  const victim = await callbackOf(site, "ada");
  const swapped = new URL(victim.url);
  swapped.searchParams.set(
    "code",
    attacker.url.searchParams.get("code") ?? "",
  );
  const foreign = new URL(victim.url);
  foreign.searchParams.set("iss", "https://evil.example/");
  const nameless = new URL(victim.url);
  nameless.searchParams.delete("iss");

  const statuses = {
    noCookie: await send(attacker.url),
    cookieOfVictim: await send(attacker.url, victim.cookie),
    codeOfAttacker: await send(swapped, victim.cookie),
    otherIssuer: await send(foreign, victim.cookie),
    noIssuer: await send(nameless, victim.cookie),
    own: await send(victim.url, victim.cookie),
    again: await send(victim.url, victim.cookie),
  };

  assert.deepEqual(
    Object.entries(statuses).map(([name, { status }]) => [name, status]),
    [
      ["noCookie", 400],
      ["cookieOfVictim", 400],
      ["codeOfAttacker", 502],
      ["otherIssuer", 502],
      ["noIssuer", 502],
      ["own", 303],
      ["again", 502],
    ],
  );
  assert.equal(statuses.own.location, `${site.origin}/app`);
  for (const { headers } of Object.values(statuses)) {
    const sets = headers.getSetCookie().filter((each) =>
      !each.includes("Max-Age=0")
    );
    assert.equal(sets.length, headers === statuses.own.headers ? 1 : 0);
  }
});

Deno.test("the way back leads nowhere but to the page that was requested", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start({
    routes: [{
      policies: { oidc: site.oidc, directResponse: { status: 200 } },
    }],
  });
  const long = `/app?${"a".repeat(5000)}`;

  for (
    const [target, expected] of [
      ["//evil.example/app", "//evil.example/app"],
      ["/app?next=https://evil.example", "/app?next=https://evil.example"],
      ["/%5cevil.example", "/%5Cevil.example"],
      [long, "/app"],
    ]
  ) {
    const user = site.user("ada");
    const { url } = await user.open(site.origin + target);
    assert.equal(url.origin, site.origin);
    assert.equal(url.pathname + url.search, expected);
  }
});

Deno.test("sessions that are forged, of another client, or cut are none", async () => {
  await using site = await startBrowserLoginSite();
  const routeTo = (path: string, oidc: object) => ({
    matches: [{ path: { type: "PathPrefix", value: path } }],
    policies: {
      oidc: { ...site.oidc, ...oidc },
      directResponse: { status: 200 },
    },
  });
  await using _gateway = await site.start({
    routes: [
      routeTo("/app", {}),
      routeTo("/scoped", { scopes: ["email"], redirectUrl: "/other/callback" }),
      routeTo("/other", { clientId: "other", redirectUrl: "/other/callback" }),
    ],
  });
  const user = site.user("ada");
  await user.open(`${site.origin}/app`);
  const cookie = user.jar.fieldFor(new URL(site.origin));
  const [name = "", value = ""] = cookie.split("=");
  const flipped = value.slice(0, 40) + (value[40] === "A" ? "B" : "A") +
    value.slice(41);
  const statusOf = async (path: string, sent: string) =>
    (await send(site.origin + path, sent)).status;

  const found = {
    own: await statusOf("/app", cookie),
    otherClient: await statusOf("/other", cookie),
    otherScopes: await statusOf("/scoped", cookie),
    flipped: await statusOf("/app", `${name}=${flipped}`),
    cut: await statusOf("/app", cookie.slice(0, -5)),
    twice: await statusOf("/app", `${cookie}; ${name}=1.abc`),
    missingPart: await statusOf("/app", cookie.replace("=1.", "=2.")),
    huge: await statusOf("/app", `${name}=4.${"A".repeat(30_000)}`),
    otherNames: await Promise.all(["/other", "/scoped"].map(async (path) => {
      const [set = ""] = (await send(site.origin + path, "", navigation))
        .headers.getSetCookie();
      const [other = ""] = set.split("-login-");
      return await statusOf(path, `${other}=${value}`);
    })),
  };

  assert.deepEqual(found, {
    own: 200,
    otherClient: 401,
    otherScopes: 401,
    flipped: 401,
    cut: 401,
    twice: 401,
    missingPart: 401,
    huge: 401,
    otherNames: [401, 401],
  });
});

Deno.test("pages of other sites neither log out nor change anything", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start({
    oidc: { allowedOrigins: ["https://app.example.com"] },
  });
  const user = site.user("ada");
  await user.open(`${site.origin}/app`);
  const cookie = user.jar.fieldFor(new URL(site.origin));
  const logout = `${site.origin}/oauth2/logout`;
  const post = (url: string, headers: Record<string, string>) =>
    send(url, cookie, { method: "POST", headers });
  const foreign = { origin: "https://evil.example" };
  const sibling = { "sec-fetch-site": "same-site" };

  const forged = [
    await post(logout, foreign),
    await post(logout, sibling),
    await post(logout, { ...foreign, "sec-fetch-site": "cross-site" }),
    await post(logout, {}),
    await post(`${site.origin}/app`, foreign),
    await post(`${site.origin}/app`, sibling),
  ];
  const link = await send(logout, cookie, navigation);
  const allowed = [
    await post(`${site.origin}/app`, { origin: site.origin }),
    await post(`${site.origin}/app`, { origin: "https://app.example.com" }),
    await post(`${site.origin}/app`, {}),
  ];

  assert.deepEqual(forged.map(({ status }) => status), [
    403,
    403,
    403,
    403,
    403,
    403,
  ]);
  assert.deepEqual([link.status, link.headers.getSetCookie()], [200, []]);
  assert.match(link.text, /<form method="post"/);
  assert.deepEqual(allowed.map(({ status }) => status), [200, 200, 200]);
});

Deno.test("backends of other routes neither see a session nor can they set one", async () => {
  await using site = await startBrowserLoginSite();
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const headers = new Headers([
        ["set-cookie", "__Host-oidc-x=1.forged; Path=/; Secure"],
        ["set-cookie", "theme=dark"],
      ]);
      return Response.json(request.headers.get("cookie"), { headers });
    },
  );
  await using _gateway = await site.start({
    routes: [
      {
        matches: [{ path: { type: "PathPrefix", value: "/app" } }],
        policies: { oidc: site.oidc },
        backends: [{ host: `127.0.0.1:${site.upstream.port}` }],
      },
      { backends: [{ host: `127.0.0.1:${upstream.addr.port}` }] },
    ],
  });
  const user = site.user("ada");
  await user.open(`${site.origin}/app`);
  const cookie = user.jar.fieldFor(new URL(site.origin));

  const alone = await send(`${site.origin}/public`, cookie);
  const among = await send(`${site.origin}/public`, `a=1; ${cookie}; b=2`);

  assert.equal(alone.text, "null");
  assert.equal(among.text, '"a=1; b=2"');
  assert.deepEqual(alone.headers.getSetCookie(), ["theme=dark"]);
});

Deno.test("ID tokens and logout tokens of somebody else, or for something else, change nothing", async () => {
  await using provider = await startScriptedProvider("site");
  await using gateway = await startTestGateway({
    routes: [{
      policies: {
        oidc: { issuer: provider.issuer, clientId: "site" },
        directResponse: { status: 200 },
      },
    }],
  });
  const { origin } = gateway;
  const logIn = async () => {
    const started = await send(`${origin}/`, "", navigation);
    const [login = ""] = started.headers.getSetCookie();
    const { location } = await send(started.location);
    const done = await send(location, login.split(";", 1)[0]);
    const cookie = done.headers.getSetCookie()
      .filter((each) => !each.includes("Max-Age=0"))
      .map((each) => each.split(";", 1)[0]).join("; ");
    return { status: done.status, cookie };
  };
  const logout = "http://schemas.openid.net/event/backchannel-logout";
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    aud: "site",
    sid: "s1",
    sub: undefined,
    iat: now + 5,
    jti: crypto.randomUUID(),
    events: { [logout]: {} },
  };
  const endWith = async (own: object, header: object = {}) => {
    const token = await provider.signer.sign(
      { ...claims, jti: crypto.randomUUID(), ...own },
      { typ: "logout+jwt", ...header },
    );
    const { status } = await send(`${origin}/oauth2/backchannel-logout`, "", {
      method: "POST",
      body: new URLSearchParams({ logout_token: token }),
    });
    return status;
  };

  const bad: number[] = [];
  for (
    const own of [
      { nonce: "other" },
      { aud: "other" },
      { iss: "https://evil.example" },
      { exp: now - 600 },
      { sub: "" },
      { aud: ["site", "other"] },
    ]
  ) {
    provider.claims = own;
    bad.push((await logIn()).status);
  }
  provider.claims = { groups: Array.from({ length: 2000 }, (_, i) => `g${i}`) };
  const tooLong = await logIn();
  provider.claims = {
    sid: "s1",
    groups: Array.from({ length: 1000 }, (_, i) => `g${i}`),
  };
  const { status, cookie } = await logIn();
  const refused = [
    await endWith({}, { typ: "JWT" }),
    await endWith({}, { typ: undefined }),
    await endWith({ nonce: "n" }),
    await endWith({ aud: "other" }),
    await endWith({ iss: "https://evil.example" }),
    await endWith({ exp: now - 600 }),
    await endWith({ events: {} }),
    await endWith({ sid: undefined }),
    await endWith({ jti: undefined }),
    await endWith({}, { kid: "k2" }),
  ];
  const ofOthers = [
    await endWith({ sid: "s2" }),
    await endWith({ sid: undefined, sub: "bob" }),
    await endWith({ sid: undefined, sub: "ada", iat: now - 5 }),
  ];
  const still = await send(`${origin}/`, cookie);
  const own = await endWith({ sid: undefined, sub: "ada" });
  const over = await send(`${origin}/`, cookie);
  const jti = crypto.randomUUID();
  const replay = [await endWith({ jti }), await endWith({ jti })];

  assert.deepEqual(bad, bad.map(() => 502));
  assert.equal(tooLong.status, 502);
  assert.equal(status, 303);
  assert(cookie.split("; ").length > 1, "the session is in several cookies");
  assert.deepEqual(refused, refused.map(() => 400));
  assert.deepEqual(ofOthers, [200, 200, 200]);
  assert.equal(still.status, 200);
  assert.deepEqual([own, over.status], [200, 401]);
  assert.deepEqual(replay, [200, 400]);
});
