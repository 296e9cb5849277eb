import assert from "node:assert/strict";
import { CookieJar, logIn } from "../../harness/browser/browser_user.ts";
import {
  answerConsent,
  callbackOf,
  codeOf,
  consented,
  openConsent,
  type Outcome,
  outcomeOf,
  startLogin,
  type Story,
  visit,
} from "../../harness/login/login_attempts.ts";
import {
  REDIRECT_URI,
  startProxiedGateway,
} from "../../harness/gateway/proxied_gateway.ts";

// The OAuth attacks on issuer mode `Proxied`: nothing gets through, and the log explains each attempt.

/** An attempt; `rejected` is the status and the error code, or the start of the page, that it ends with. */
interface Attack {
  readonly name: string;
  readonly attempt: (story: Story) => Promise<Outcome>;
  readonly rejected: readonly [status: number, error: string | RegExp];
  /** The explanation in the access log. */
  readonly log: RegExp;
}

const EVIL = "https://evil.example/cb";
const notFromHere = /not started in this browser/;
const badGrant = [400, "invalid_grant"] as const;

const attacks: readonly Attack[] = [
  // Open redirect
  {
    name: "open redirect: an address that nobody registered",
    attempt: ({ authorizeUrl, client }) =>
      visit(authorizeUrl(client, { redirect_uri: EVIL })),
    rejected: [400, /redirect_uri is not one that the client registered/],
    log: /redirect_uri is not one that the client registered/,
  },
  {
    name: "open redirect: an error for an address that nobody registered",
    attempt: ({ authorizeUrl, client }) =>
      visit(
        authorizeUrl(client, { redirect_uri: EVIL, response_type: "token" }),
      ),
    rejected: [400, /redirect_uri is not one that the client registered/],
    log: /redirect_uri is not one that the client registered/,
  },
  {
    name: "open redirect: an address of an unknown client",
    attempt: ({ authorizeUrl }) =>
      visit(authorizeUrl("unknown", { redirect_uri: EVIL })),
    rejected: [401, /client_id is not registered here/],
    log: /client_id is not registered here; register again/,
  },
  {
    name: "open redirect: an address for the callback",
    attempt: ({ base }) => visit(`${base}/callback?redirect_uri=${EVIL}`),
    rejected: [400, /state is missing/],
    log: /state is missing/,
  },

  // Redirect URI tricks
  ...[
    "http://localhost:41999/callback",
    "http://127.0.0.1:41999/callback/",
    "http://127.0.0.1:41999/callback?x=1",
    "http://127.0.0.1:41999/callback#x",
    "http://127.0.0.1:41999/callback/../evil",
    "http://127.0.0.1:41999/%63allback",
    "http://127.0.0.1:41999/callback\r\nset-cookie: a=b",
    "http://127.0.0.1:41999\\@evil.example/callback",
    "http://127.0.0.1:41999@evil.example/callback",
    "http://127.0.0.1:99999999/callback",
    "http://127.0.0.1:99999/callback",
    "http://127.0.0.1.evil.example/callback",
    "HTTP://127.0.0.1:41999/callback",
    "https://127.0.0.1:41999/callback",
    "//evil.example/callback",
    "javascript:alert(1)",
  ].map((uri): Attack => ({
    name: `redirect URI trick: ${JSON.stringify(uri)}`,
    attempt: ({ authorizeUrl, client }) =>
      visit(authorizeUrl(client, { redirect_uri: uri })),
    rejected: [400, /redirect_uri is not one that the client registered/],
    log: /redirect_uri is not one that the client registered/,
  })),
  {
    name: "redirect URI trick: two of them",
    attempt: ({ authorizeUrl, client }) =>
      visit(`${authorizeUrl(client)}&redirect_uri=${EVIL}`),
    rejected: [400, /redirect_uri/],
    log: /redirect_uri/,
  },
  ...[
    "http://evil.example/cb",
    "https://evil.example/cb#x",
    "https://user:secret@evil.example/",
    "https://evil.example/\\cb",
    "javascript:alert(1)",
    "ms-msdt:/id",
    "search-ms:query=x",
    "data:text/html,x",
    "/relative",
  ].map((uri): Attack => ({
    name: `redirect URI trick: registration of ${JSON.stringify(uri)}`,
    attempt: async ({ register }) =>
      outcomeOf(await register({ redirect_uris: [REDIRECT_URI, uri] })),
    rejected: [400, "invalid_redirect_uri"],
    log: /redirect_uris/,
  })),

  // Code injection and replay
  {
    name: "code injection: the victim's code at the attacker's client",
    attempt: async ({ redeem, evilClient, ...story }) =>
      outcomeOf(await redeem(evilClient, await codeOf(story))),
    rejected: badGrant,
    log: /the code was issued to another client/,
  },
  {
    name: "code injection: the victim's code, without the verifier",
    attempt: async ({ redeem, client, ...story }) =>
      outcomeOf(
        await redeem(client, await codeOf({ client, ...story }), {
          code_verifier: "x".repeat(43),
        }),
      ),
    rejected: badGrant,
    log: /code_verifier does not match code_challenge/,
  },
  {
    name: "code injection: the attacker's code in the victim's session",
    attempt: async ({ redeem, client, evilClient, ...story }) =>
      outcomeOf(
        await redeem(client, await codeOf({ ...story, client: evilClient })),
      ),
    rejected: badGrant,
    log: /the code was issued to another client/,
  },
  {
    name: "code injection: another redirect URI",
    attempt: async ({ redeem, client, ...story }) =>
      outcomeOf(
        await redeem(client, await codeOf({ client, ...story }), {
          redirect_uri: "http://127.0.0.1:41999/other",
        }),
      ),
    rejected: badGrant,
    log: /redirect_uri differs from the authorization request/,
  },
  {
    name: "code injection: another MCP server",
    attempt: async ({ redeem, client, ...story }) =>
      outcomeOf(
        await redeem(client, await codeOf({ client, ...story }), {
          resource: "https://other.example.com/mcp",
        }),
      ),
    rejected: [400, "invalid_target"],
    log: /resource is not http/,
  },
  {
    name: "code injection: a code with one changed letter",
    attempt: async ({ redeem, client, ...story }) => {
      const code = await codeOf({ client, ...story });
      const changed = code.at(40) === "A" ? "B" : "A";
      return outcomeOf(
        await redeem(client, code.slice(0, 40) + changed + code.slice(41)),
      );
    },
    rejected: badGrant,
    log: /unknown code/,
  },
  {
    name: "code injection: a client ID as the code",
    attempt: async ({ redeem, client }) =>
      outcomeOf(await redeem(client, client)),
    rejected: badGrant,
    log: /unknown code/,
  },
  {
    name: "code injection: a code as the refresh token",
    attempt: async ({ refresh, client, ...story }) =>
      outcomeOf(await refresh(client, await codeOf({ client, ...story }))),
    rejected: badGrant,
    log: /unknown refresh token/,
  },
  {
    name: "code replay",
    attempt: async ({ redeem, client, ...story }) => {
      const code = await codeOf({ client, ...story });
      const first = await redeem(client, code);
      assert.equal(first.status, 200);
      return outcomeOf(await redeem(client, code));
    },
    rejected: badGrant,
    log: /the code was used before; its grant has ended/,
  },
  {
    name: "code replay: the refresh token of the grant that ended",
    attempt: async ({ redeem, refresh, client, ...story }) => {
      const code = await codeOf({ client, ...story });
      const { body } = await redeem(client, code);
      await redeem(client, code);
      assert.equal(typeof body.refresh_token, "string");
      return outcomeOf(await refresh(client, body.refresh_token));
    },
    rejected: badGrant,
    log: /the grant has ended/,
  },
  {
    name: "a stolen refresh token at another client",
    attempt: async ({ redeem, refresh, client, evilClient, ...story }) => {
      const code = await codeOf({ client, ...story });
      const { body } = await redeem(client, code);
      return outcomeOf(await refresh(evilClient, body.refresh_token));
    },
    rejected: badGrant,
    log: /unknown refresh token/,
  },
  {
    name: "a password of the user at the token endpoint",
    attempt: async ({ token, client }) =>
      outcomeOf(
        await token({
          grant_type: "password",
          client_id: client,
          username: "ada",
          password: "secret",
        }),
      ),
    rejected: [400, "unsupported_grant_type"],
    log: /grant_type: expected authorization_code, refresh_token/,
  },

  // PKCE downgrade
  ...([
    ["no challenge", { code_challenge: undefined }],
    ["a plain challenge", { code_challenge_method: "plain" }],
    ["no method, which means plain", { code_challenge_method: undefined }],
    ["a short challenge", { code_challenge: "x" }],
  ] as const).map(([what, parameters]): Attack => ({
    name: `PKCE downgrade: ${what}`,
    attempt: ({ authorizeUrl, client }) =>
      visit(authorizeUrl(client, parameters)),
    rejected: [303, "invalid_request"],
    log: /PKCE with S256 is required|code_challenge is missing/,
  })),
  {
    name: "PKCE downgrade: no verifier",
    attempt: async ({ redeem, client, ...story }) =>
      outcomeOf(
        await redeem(client, await codeOf({ client, ...story }), {
          code_verifier: undefined,
        }),
      ),
    rejected: [400, "invalid_request"],
    log: /code_verifier is missing/,
  },
  {
    name: "PKCE downgrade: an implicit token",
    attempt: ({ authorizeUrl, client }) =>
      visit(authorizeUrl(client, { response_type: "token" })),
    rejected: [303, "unsupported_response_type"],
    log: /only \\"code\\" is supported/,
  },

  // Mix-up (RFC 9207)
  ...([["another provider", `&iss=${EVIL}`], ["no provider", ""]] as const)
    .map(([what, iss]): Attack => ({
      name: `mix-up: a response of ${what}`,
      attempt: async (story) =>
        visit(
          `${story.base}/callback?code=c&state=${await startLogin(
            story,
          )}${iss}`,
          story.browser,
        ),
      rejected: [303, "access_denied"],
      log: /the response is not from the identity provider/,
    })),

  // CSRF on callback and consent
  {
    name: "CSRF on the callback: the attacker's login in the victim's browser",
    attempt: async (story) => {
      const state = await startLogin({
        ...story,
        browser: await consented(story),
      });
      return await visit(
        `${story.base}/callback?code=c&state=${state}`,
        story.browser,
      );
    },
    rejected: [400, notFromHere],
    log: notFromHere,
  },
  {
    name: "CSRF on the callback: before the user has consented",
    attempt: async (story) => {
      const { login, jar } = await openConsent(story);
      return await visit(`${story.base}/callback?code=c&state=${login}`, jar);
    },
    rejected: [400, /has not agreed yet/],
    log: /has not agreed yet/,
  },
  ...([
    ["without its cookie", {}, notFromHere],
    ["from a page of another site", { origin: "https://evil.example" }],
    ["from a sandboxed frame", { origin: "null" }],
  ] as const).map(([what, headers, reason = /another site/]): Attack => ({
    name: `CSRF on the consent: the answer comes ${what}`,
    attempt: async (story) => {
      const { login, jar } = await openConsent(story);
      const cookie = "origin" in headers
        ? { cookie: jar.fieldFor(new URL(story.base)) }
        : {};
      return await answerConsent(story, login, { ...headers, ...cookie });
    },
    rejected: [400, reason],
    log: reason,
  })),

  // State replay across clients
  {
    name: "state replay: the callback of a login that is over",
    attempt: async (story) => {
      const url = await callbackOf(story);
      await visit(url, story.browser);
      return await visit(url, story.browser);
    },
    rejected: [400, notFromHere],
    log: notFromHere,
  },
  {
    name: "state replay: the consent for one client as that for another",
    attempt: async (story) => {
      const { login } = await openConsent(story);
      const { jar } = await openConsent({ ...story, client: story.evilClient });
      return await answerConsent(story, login, {
        cookie: jar.fieldFor(new URL(story.base)),
      });
    },
    rejected: [400, notFromHere],
    log: notFromHere,
  },
  {
    name: "state replay: the provider's code of one login in another",
    attempt: async (story) => {
      const code = new URL(await callbackOf(story)).searchParams.get("code");
      const other = new URL(await callbackOf(story));
      other.searchParams.set("code", String(code));
      const { location } = await visit(other.href, story.browser);
      return outcomeOf(
        await story.redeem(
          story.client,
          new URL(location).searchParams.get("code"),
        ),
      );
    },
    rejected: badGrant,
    log: /the identity provider rejected the grant: .*invalid_grant/,
  },

  // Confused deputy by dynamic registration
  {
    name: "confused deputy: a client with the name of a trusted one",
    attempt: async ({ register, authorizeUrl, browser }) => {
      const { body } = await register({
        client_name: "Test client",
        redirect_uris: [EVIL],
      });
      return await visit(
        authorizeUrl(String(body.client_id), { redirect_uri: EVIL }),
        browser,
      );
    },
    // The user is asked, and sees where the code would go.
    rejected: [200, /Test client.*evil\.example/s],
    log: /authorize\S* .*http\.status=200/,
  },
  {
    name: "confused deputy: another redirect URI of a client with consent",
    attempt: async ({ register, authorizeUrl, browser }) => {
      const { body } = await register({ redirect_uris: [REDIRECT_URI, EVIL] });
      const id = String(body.client_id);
      await logIn(authorizeUrl(id), {}, browser);
      return await visit(authorizeUrl(id, { redirect_uri: EVIL }), browser);
    },
    rejected: [200, /evil\.example/],
    log: /authorize\S* .*http\.status=200/,
  },
  {
    name: "confused deputy: a client ID that the gateway did not issue",
    attempt: ({ authorizeUrl, client }) =>
      visit(authorizeUrl(`${client.slice(0, -2)}xx`)),
    rejected: [401, /client_id is not registered here/],
    log: /client_id is not registered here/,
  },

  // SSRF through client documents
  ...[
    "https://127.0.0.1:8443/client.json",
    "https://localhost/client.json",
    "https://169.254.169.254/latest/meta-data",
    "https://[::ffff:10.0.0.1]/client.json",
    "https://[fd00::1]/client.json",
    "https://0.0.0.0/client.json",
    "https://10.1.2.3/client.json",
  ].map((id): Attack => ({
    name: `SSRF: ${id}`,
    attempt: ({ authorizeUrl }) => visit(authorizeUrl(id)),
    rejected: [401, /client metadata document cannot be fetched|not a normal/],
    log: /its host is not on the public internet|not a normalized URL/,
  })),
  ...[
    ["https://user:secret@client.example/c", /has user information/],
    ["https://2130706433/client.json", /not a normalized URL/],
    ["https://client.example/a/../b", /not a normalized URL/],
    ["http://client.example/c.json", /client_id is not registered here/],
    ["file:///etc/passwd", /client_id is not registered here/],
  ].map(([id, reason]): Attack => ({
    name: `SSRF: ${id}`,
    attempt: ({ authorizeUrl }) => visit(authorizeUrl(String(id))),
    rejected: [401, reason ?? ""],
    log: new RegExp(reason ?? ""),
  })),
];

Deno.test("every OAuth attack on a login fails, and the log explains it", async (t) => {
  await using server = await startProxiedGateway({
    idp: { sendsIssuer: true },
  });
  const client = await server.registerClient();
  const browser = new CookieJar();
  await server.code(client, {}, browser);
  const evilClient = await server.registerClient("Evil");
  const story = { ...server, client, browser, evilClient };

  for (const { name, attempt, rejected: [status, error], log } of attacks) {
    await t.step(name, async () => {
      const logged = server.gateway.accessLog.length;

      const { text, location, ...outcome } = await attempt(story);

      assert.equal(outcome.status, status, text);
      const told = location === ""
        ? text
        : new URL(location).searchParams.get("error") ?? "";
      if (typeof error === "string") assert(told.includes(error), told);
      else assert.match(told, error);
      assert.doesNotMatch(text, /access_token/);
      assert.doesNotMatch(location, /evil\.example|[?&]code=/);
      const lines = server.gateway.accessLog.slice(logged);
      assert.match(lines.at(-1) ?? "", log);
    });
  }
});
