import { readMembers } from "../../base/json/decode_members.ts";
import type { HeaderList } from "../../http/header_list.ts";
import {
  readOwnCookies,
  removeOwnCookies,
  setCookie,
} from "../../http/own_cookies.ts";
import { randomText } from "../oauth/protocol/seal.ts";
import type { ConnectionLinks } from "./connection_links.ts";
import { LOGIN_MS } from "../openid/openid_client.ts";
import type { PageUser } from "./gateway_login.ts";

/** A user who is logged in on the pages of the gateway, in one browser. */
export interface PageSession {
  readonly user: PageUser;
  /** Proves that a form is of this session. */
  readonly token: string;
}

const PREFIX = "__Host-connections-";
const SESSION = `${PREFIX}session`;
const LOGIN = `${PREFIX}login`;
const SESSION_MS = 60 * 60_000;

/** Cookies of the pages; with `__Host-`, no other host can set them. */
export class PageCookies {
  readonly #links: ConnectionLinks;
  readonly #now: () => number;

  constructor(links: ConnectionLinks, now: () => number) {
    this.#links = links;
    this.#now = now;
  }

  /** Returns the session of a browser; `undefined` without one. */
  session(headers: HeaderList): PageSession | undefined {
    const session = readMembers(
      this.#links.open("session", readCookie(headers, SESSION)),
      { issuer: "string", subject: "string", name: "string", token: "string" },
    );
    if (session === undefined) return undefined;
    const { token, ...user } = session;
    return { user, token };
  }

  /** Begins a session, with a token that no session before had. */
  begin(user: PageUser): readonly string[] {
    const expiresAt = this.#now() + SESSION_MS;
    const session = { ...user, token: randomText(), expiresAt };
    const sealed = this.#links.seal("session", session);
    return [setCookie(SESSION, sealed, SESSION_MS), setCookie(LOGIN, "", 0)];
  }

  /** Ends the session. */
  end(): readonly string[] {
    return [setCookie(SESSION, "", 0)];
  }

  /** Returns the login that the browser has started; empty without one. */
  login(headers: HeaderList): string {
    return readCookie(headers, LOGIN);
  }

  /** Remembers a login that has started. */
  startLogin(sealed: string): readonly string[] {
    return [setCookie(LOGIN, sealed, LOGIN_MS)];
  }
}

/** Removes the cookies of the pages, which are for the gateway alone, from a request that goes upstream. */
export function removePageCookies(headers: HeaderList): void {
  removeOwnCookies(headers, PREFIX);
}

/** Returns a cookie; empty without one. */
function readCookie(headers: HeaderList, name: string): string {
  return readOwnCookies(headers, PREFIX).get(name) ?? "";
}
