import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { readMembers } from "../../base/json/decode_members.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { ProofStore } from "../oauth/grants/proof_store.ts";
import { renderPage } from "../oauth/protocol/login_pages.ts";
import { OAuthError } from "../oauth/protocol/oauth_error.ts";
import {
  jsonErrorReply,
  type OAuthReply,
  pageReply,
  redirectReply,
} from "../oauth/protocol/oauth_reply.ts";
import { sha256 } from "../oauth/protocol/seal.ts";
import { TokenError } from "../tokens/token.ts";
import type { BrowserSessions, FoundSession } from "./browser_sessions.ts";
import { type CookieNames, readLoginCookies } from "./login_cookies.ts";
import { verifyLogoutToken } from "./logout_token.ts";
import { LOGIN_MS, type OpenIdClient } from "./openid_client.ts";

/** Dependencies of logins in browsers. */
export interface BrowserLoginOptions {
  readonly client: OpenIdClient;
  readonly sessions: BrowserSessions;
  readonly names: CookieNames;
  /** Remembers logout tokens, so that each counts once. */
  readonly proofs: ProofStore;
  readonly clock: Clock;
  /** Redirect URI: a path, or a URL. */
  readonly redirectUrl: string;
  readonly logout: LogoutOptions;
}

/** Settings of logouts. */
export interface LogoutOptions {
  /** Path of the logout. */
  readonly path: string;
  /** The browser's session at the provider ends too. */
  readonly atProvider: boolean;
  /** Path or URL where users go; `undefined` for a page of the gateway. */
  readonly redirectUrl: string | undefined;
}

/** A request of a browser. */
export interface BrowserRequest {
  readonly method: string;
  /** Origin of the gateway as the browser knows it. */
  readonly origin: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly cancellation: Cancellation;
}

/** Longer ones are not kept in a cookie; the user comes back to the path without its query, or to `/`. */
const MAX_TARGET_LENGTH = 1024;

/** Logs users of browsers in and out at an OpenID provider. */
export class BrowserLogin {
  readonly #options: BrowserLoginOptions;

  constructor(options: BrowserLoginOptions) {
    this.#options = options;
  }

  /**
   * Returns the session of a browser; `undefined` without one.
   * @throws {OAuthError} When nobody can tell whether it is valid.
   */
  session(
    { headers, cancellation }: BrowserRequest,
  ): Promise<FoundSession | undefined> {
    const cookies = readLoginCookies(headers);
    return this.#options.sessions.find(cookies, cancellation);
  }

  /** Sends the browser to the provider; it comes back to the page that it has requested. @throws {OAuthError} */
  async start(
    { origin, target, headers }: BrowserRequest,
  ): Promise<OAuthReply> {
    const { client, sessions, names, clock, redirectUrl } = this.#options;
    const redirectUri = new URL(redirectUrl, origin).href;
    const { location, attempt } = await client.start(redirectUri);
    const sealed = await sessions.sealLogin({
      ...attempt,
      redirectUri,
      // An absolute URL: a path such as "//example.com" would lead to another site.
      returnTo: origin + shortTarget(target),
      expiresAt: clock.now() + LOGIN_MS,
    });
    const cookies = names.startLogin(attempt.state, sealed, {
      lifetimeMs: LOGIN_MS,
      cookies: readLoginCookies(headers),
    });
    return redirectReply(location, cookies);
  }

  /** Logs the user in with the response of the provider, if this browser has started the login. @throws {OAuthError} */
  async finish(
    { target, headers, cancellation }: BrowserRequest,
  ): Promise<OAuthReply> {
    const { client, sessions, names, clock } = this.#options;
    const answer = new URLSearchParams(queryOf(target));
    const cookies = readLoginCookies(headers);
    const state = answer.get("state") ?? "";
    const sealed = names.login(state, cookies) ?? "";
    const login = readMembers(await sessions.openLogin(sealed), {
      nonce: "string",
      verifier: "string",
      redirectUri: "string",
      returnTo: "string",
      state: "string",
      expiresAt: "number",
    });
    if (login?.state !== state || clock.now() >= login.expiresAt) {
      throw new OAuthError(
        "invalid_request",
        "this login was not started in this browser, is over already, or took longer than ten minutes",
      );
    }
    const { nonce, verifier, redirectUri, returnTo } = login;
    const tokens = await client.finish(
      { state, nonce, verifier },
      redirectUri,
      { answer, cancellation },
    );
    const set = await sessions.begin(tokens, cookies);
    return redirectReply(returnTo, [...set, names.endLogin(state)]);
  }

  /**
   * Ends the session of a browser. Pages of other sites cannot do that: their users are asked first.
   * @throws {OAuthError}
   */
  async logout(request: BrowserRequest): Promise<OAuthReply> {
    const { sessions, names, logout } = this.#options;
    const { method, headers, origin } = request;
    if (!isOwn(request)) {
      if (method === "GET") return pageReply(renderLogout(logout.path));
      throw new OAuthError(
        "access_denied",
        "the request to log out is of another site",
      );
    }
    const cookies = readLoginCookies(headers);
    const session = await sessions.read(cookies);
    if (session !== undefined) await sessions.end(session);
    const ended = names.endSession(cookies);
    const returnTo = logout.redirectUrl === undefined
      ? undefined
      : new URL(logout.redirectUrl, origin).href;
    const location = logout.atProvider && session !== undefined
      ? await this.#options.client.logoutUrl({
        idToken: session.tokens.idToken,
        returnTo,
      }).catch(() => {
        // The session here is over, whether or not the provider is available.
        return undefined;
      })
      : undefined;
    const next = location ?? returnTo;
    return next === undefined
      ? pageReply(loggedOutPage, ended)
      : redirectReply(next, ended);
  }

  /** Ends the sessions that the provider has ended (OpenID Connect Back-Channel Logout). @param form Of the request. */
  async endByProvider(
    form: ReadonlyMap<string, string>,
  ): Promise<OAuthReply> {
    const { client, sessions, clock, proofs } = this.#options;
    try {
      const ended = await verifyLogoutToken(
        form.get("logout_token") ?? "",
        client,
        clock.now(),
      );
      // First, so that the provider can repeat a request after a failure; to end the same sessions twice changes nothing.
      await sessions.endAll(ended);
      const key = sha256(`logout ${client.issuer}`);
      if (!await proofs.spend(key, sha256(ended.id), ended.expiresAt)) {
        throw new TokenError("token was used before");
      }
    } catch (error) {
      if (error instanceof OAuthError) return jsonErrorReply(error);
      const isInvalid = error instanceof TokenError;
      return jsonErrorReply(
        new OAuthError(
          isInvalid ? "invalid_request" : "temporarily_unavailable",
          isInvalid ? error.message : "the logout token cannot be checked",
          error instanceof Error ? error.message : undefined,
        ),
      );
    }
    return pageReply("");
  }
}

/** Reports whether a page of the gateway's own origin, or the user in person, has made a request. */
function isOwn({ method, origin, headers }: BrowserRequest): boolean {
  const site = headers.get("sec-fetch-site");
  if (site === "same-origin") return true;
  if (method === "GET") return site === "none";
  return site === undefined && headers.get("origin") === origin;
}

function queryOf(target: string): string {
  const at = target.indexOf("?");
  return at < 0 ? "" : target.slice(at + 1);
}

function shortTarget(target: string): string {
  if (target.length <= MAX_TARGET_LENGTH) return target;
  const [path = "/"] = target.split("?", 1);
  return path.length <= MAX_TARGET_LENGTH ? path : "/";
}

function renderLogout(path: string): string {
  const action = path.replace(/[&"<>]/g, encodeURIComponent);
  return renderPage(
    "Log out",
    `<h1>Log out?</h1>
<form method="post" action="${action}">
<button>Log out</button>
</form>`,
  );
}

const loggedOutPage = renderPage(
  "Logged out",
  `<h1>You are logged out</h1>
<p class="hint">Your session here has ended.</p>`,
);
