/** Attacks on logins of users at services: nobody gets the account of somebody else, or gives away an own one unasked. */
import assert from "node:assert/strict";
import {
  backendOf,
  sendAs,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import type { ConnectingUser } from "../../harness/login/connecting_user.ts";
import {
  startUserService,
  type UserService,
  type UserServiceOptions,
} from "../../harness/login/user_service.ts";

/** Starts a gateway in front of a service. */
async function startStage(
  options: UserServiceOptions = {},
  oauth: Readonly<Record<string, unknown>> = {},
) {
  const stack = new AsyncDisposableStack();
  const service = stack.use(await startUserService(options));
  const site = stack.use(await startConnectingSite());
  const gateway = stack.use(
    await site.start({
      backends: [backendOf(service, oauth)],
      backend: { backend: "drive" },
    }),
  );
  const isConnected = async (user: string) =>
    (await sendAs(site, user)).status === 200;
  return {
    service,
    site,
    gateway,
    isConnected,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Logs in at the gateway and the service as far as the redirect to the callback, which the browser does not follow. */
async function stopBeforeCallback(
  user: ConnectingUser,
  link: string,
): Promise<URL> {
  let page = await user.open(link);
  user.stopsAt = (url) => url.pathname.startsWith("/connections/callback/");
  for (let steps = 0; steps < 4 && !user.stopsAt(page.url); steps++) {
    page = await user.submit(page, "allow");
  }
  user.stopsAt = () => false;
  assert.match(page.url.pathname, /callback/, page.text);
  return page.url;
}

Deno.test("the link of another user leads no further", async () => {
  await using stage = await startStage();
  const { site, isConnected } = stage;
  const { link } = await sendAs(site, "anna");
  const ben = site.user("ben");

  const page = await ben.open(link);

  assert.equal(page.status, 403);
  assert.match(page.text, /This link is not for you/);
  // The form of an own page, with the link of somebody else.
  const own = await ben.open((await sendAs(site, "ben")).link);
  const forged = own.text.replace(
    /name="request" value="[^"]*"/,
    `name="request" value="${new URL(link).searchParams.get("request")}"`,
  );
  const answer = await ben.submit({ ...own, text: forged }, "allow");
  assert.match(answer.text, /the link is for another user/);
  for (const user of ["anna", "ben"]) assert(!await isConnected(user));
});

Deno.test("a callback in the browser of somebody else connects nobody", async () => {
  await using stage = await startStage();
  const { site, isConnected } = stage;
  const mallory = site.user("mallory");
  const callback = await stopBeforeCallback(
    mallory,
    (await sendAs(site, "mallory")).link,
  );
  const anna = site.user("anna");

  const stranger = await anna.visit(callback);
  await anna.open(`${site.origin}/connections`);
  const page = await anna.visit(callback);

  assert.match(stranger.text, /you are not logged in here/);
  assert.match(page.text, /it was not started by you in this browser/);
  for (const user of ["anna", "mallory"]) assert(!await isConnected(user));
  // It was not spent by the attempt.
  assert.match((await mallory.visit(callback)).text, /Connected\./);
});

Deno.test("wrong states, replayed callbacks and answers of other issuers connect nobody", async () => {
  await using stage = await startStage();
  const { site, service, isConnected } = stage;
  const anna = site.user("anna");
  const callback = await stopBeforeCallback(
    anna,
    (await sendAs(site, "anna")).link,
  );
  const changed = (name: string, value: string | undefined) => {
    const url = new URL(callback);
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    return url;
  };

  for (
    const [url, expected] of [
      [changed("state", undefined), /it was not started by you/],
      [changed("state", "guessed"), /it was not started by you/],
      [
        new URL(callback.href.replace("/drive", "/other")),
        /there is no such service/,
      ],
    ] as const
  ) assert.match((await anna.visit(url)).text, expected);
  assert.equal(service.tokenRequests.length, 0);
  const foreign = await anna.visit(changed("iss", "https://evil.example"));
  assert.match(foreign.text, /is not that of the authorization server/);
  assert.equal(service.tokenRequests.length, 0);
  // The answer was used up.
  assert.match((await anna.visit(callback)).text, /it was not started by you/);
  assert(!await isConnected("anna"));

  const next = await stopBeforeCallback(
    anna,
    (await sendAs(site, "anna")).link,
  );
  next.searchParams.delete("iss");
  assert.match(
    (await anna.visit(next)).text,
    /is not that of the authorization server/,
  );
  const last = await stopBeforeCallback(
    anna,
    (await sendAs(site, "anna")).link,
  );
  assert.match((await anna.visit(last)).text, /Connected\./);
  assert.match((await anna.visit(last)).text, /it was not started by you/);
  assert(await isConnected("anna"));
});

Deno.test("an error of a foreign issuer is not shown", async () => {
  await using stage = await startStage();
  const { site } = stage;
  const anna = site.user("anna");
  const callback = await stopBeforeCallback(
    anna,
    (await sendAs(site, "anna")).link,
  );
  callback.search = new URLSearchParams({
    state: callback.searchParams.get("state") ?? "",
    iss: "https://evil.example",
    error: "call_this_number",
    error_description: "call 555",
  }).toString();

  const page = await anna.visit(callback);

  assert.doesNotMatch(page.text, /call_this|555/);
});

Deno.test("a user who does not agree is not connected", async () => {
  await using stage = await startStage();
  const { site, gateway, isConnected } = stage;
  const anna = site.user("anna");
  const { link } = await sendAs(site, "anna");

  const cancelled = await anna.submit(await anna.open(link), "deny");
  const there = await anna.submit(await anna.open(link), "allow");
  const denied = await anna.submit(there, "deny");

  assert.match(cancelled.text, /Your connections/);
  assert.match(
    denied.text,
    /the authorization server answers &#34;access_denied&#34;/,
  );
  assert(!await isConnected("anna"));
  assert.match(
    gateway.log.join("\n"),
    /Account change user\.issuer=\S+ user\.subject=anna action=connect backend=default\/drive outcome=rejected/,
  );
});

Deno.test("forms of other pages, and of other sessions, change nothing", async () => {
  await using stage = await startStage();
  const { site, isConnected } = stage;
  const anna = site.user("anna");
  await anna.connect((await sendAs(site, "anna")).link);
  const ben = site.user("ben");
  const foreign = await ben.open(`${site.origin}/connections`);
  const token = /name="token" value="([^"]*)"/.exec(foreign.text)?.[1] ?? "";

  for (
    const [fields, origin] of [
      [{ backend: "default/drive" }, site.origin],
      [{ backend: "default/drive", token }, site.origin],
      [{ backend: "default/drive", token }, "https://evil.example"],
    ] as const
  ) {
    const url = new URL(`${site.origin}/connections/revoke`);
    const response = await fetch(url, {
      method: "POST",
      headers: { cookie: anna.jar.fieldFor(url), origin },
      body: new URLSearchParams(fields),
    });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /the form is not of this page/);
  }
  assert(await isConnected("anna"));
});

Deno.test("pages cannot be framed, cookies are the gateway's, and no service sees them", async () => {
  await using stage = await startStage();
  const { site, service } = stage;
  const anna = site.user("anna");
  await anna.connect((await sendAs(site, "anna")).link);
  const url = new URL(`${site.origin}/connections`);
  const cookie = anna.jar.fieldFor(url);
  const page = await fetch(url, { headers: { cookie } });
  await page.body?.cancel();
  const seen: (string | null)[] = [];
  service.handle = ({ headers }) => {
    seen.push(headers.get("cookie"));
    return new Response("ok");
  };

  const response = await fetch(`${site.origin}/api`, {
    headers: {
      cookie: `a=1; ${cookie}; b=2`,
      authorization: await site.authorization("anna"),
    },
  });
  await response.body?.cancel();

  assert.match(
    page.headers.get("content-security-policy") ?? "",
    /default-src 'none'.*frame-ancestors 'none'/,
  );
  assert.match(cookie, /^__Host-connections-session=[\w-]+$/);
  assert.deepEqual(seen, ["a=1; b=2"]);
});

Deno.test("login leads to no other site", async () => {
  await using stage = await startStage();
  const { site } = stage;
  for (const target of ["https://evil.example/", "//evil.example", "/other"]) {
    const anna = site.user("anna");
    const issuer = anna.idp;
    const query = new URLSearchParams({ issuer, return: target });
    const page = await anna.open(`${site.origin}/connections/login?${query}`);
    assert.equal(page.url.href, `${site.origin}/connections`);
  }
  const response = await fetch(
    `${site.origin}/connections/login?issuer=https%3A%2F%2Fevil.example`,
  );
  assert.equal(response.status, 400);
  assert.match(await response.text(), /cannot log in here/);
});

Deno.test("a login at the gateway that was started elsewhere logs nobody in", async () => {
  await using stage = await startStage();
  const { site } = stage;
  const mallory = site.user("mallory");
  let page = await mallory.visit(`${site.origin}/connections`);
  mallory.stopsAt = (url) => url.pathname === "/connections/login";
  page = await mallory.submit(page, "allow");
  const anna = site.user("anna");

  const forced = await anna.visit(page.url);
  await anna.visit(`${site.origin}/connections`);
  const other = await anna.visit(page.url);

  assert.match(forced.text, /this login was not started in this browser/);
  assert.match(other.text, /this login was not started in this browser/);
});

/** Metadata of a service or an authorization server that do not hold, and what the user sees. */
const lies: Readonly<
  Record<string, {
    readonly prm?: (service: UserService) => unknown;
    readonly expected: RegExp;
  }>
> = {
  "metadata of another service": {
    prm: ({ idp }) => ({
      resource: "https://other.example/api",
      authorization_servers: [idp.issuer],
    }),
    expected: /the metadata of the service are those of another one/,
  },
  "an authorization server in the internal network": {
    prm: ({ resource }) => ({
      resource,
      authorization_servers: ["http://10.0.0.1/"],
    }),
    expected: /does not respond as it should/,
  },
  "an authorization server at a metadata service of a cloud": {
    prm: ({ resource }) => ({
      resource,
      authorization_servers: ["http://169.254.169.254/latest"],
    }),
    expected: /does not respond as it should/,
  },
  "an issuer that is another one": {
    prm: ({ resource, idp }) => ({
      resource,
      authorization_servers: [`${idp.issuer}/other`],
    }),
    expected: /does not respond as it should/,
  },
};

for (const [name, { prm, expected }] of Object.entries(lies)) {
  Deno.test(`users are not sent to ${name}`, async () => {
    await using stage = await startStage();
    const { site, service } = stage;
    service.describe = prm;
    const anna = site.user("anna");

    const page = await anna.connect((await sendAs(site, "anna")).link);

    assert.match(page.text, expected);
    assert.equal(
      service.requests.length === 0 ||
        !service.requests.includes("POST /register"),
      true,
    );
  });
}

Deno.test("users are not sent to an authorization server without PKCE (S256)", async () => {
  await using stage = await startStage();
  const { site, service } = stage;
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ url }) => {
      const { origin } = new URL(url);
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["plain"],
      });
    },
  );
  service.describe = ({ resource }) => ({
    resource,
    authorization_servers: [`http://127.0.0.1:${server.addr.port}`],
  });

  const page = await site.user("anna").connect(
    (await sendAs(site, "anna")).link,
  );

  assert.match(page.text, /does not support PKCE with S256/);
});
