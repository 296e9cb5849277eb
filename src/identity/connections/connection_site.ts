import { createHash, timingSafeEqual } from "node:crypto";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import type { RequestMessage } from "../../http/message.ts";
import { readForm } from "../oauth/authorization_server.ts";
import { OAuthError } from "../oauth/protocol/oauth_error.ts";
import {
  jsonReply,
  type OAuthReply,
  pageErrorReply,
  pageReply,
  redirectReply,
} from "../oauth/protocol/oauth_reply.ts";
import { type ConnectionActions, shownOf } from "./connection_actions.ts";
import type { ConnectionLinks, ConnectionRequest } from "./connection_links.ts";
import {
  type PageForm,
  renderConnect,
  renderConnections,
  renderForeignLink,
  renderIssuers,
} from "./connection_pages.ts";
import type { GatewayLogin } from "./gateway_login.ts";
import type { LoginClients } from "./login_clients.ts";
import { PageCookies, type PageSession } from "./page_session.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";
import { isSame, pathOf } from "./user_login.ts";

/** Dependencies of the pages. */
export interface ConnectionSiteOptions {
  /** URL of the pages, without a slash at its end. */
  readonly url: string;
  readonly links: ConnectionLinks;
  readonly login: GatewayLogin;
  readonly actions: ConnectionActions;
  readonly clients: LoginClients;
  readonly log: Log;
  readonly now: () => number;
  /** Returns the logins of the configuration in force. */
  logins(): readonly UserLogin[];
}

const MAX_REQUESTS = 64;
const posts: ReadonlySet<string> = new Set(["start", "revoke", "logout"]);

/**
 * Pages on which users connect their accounts at services, see what they have connected, and disconnect. Whoever visits them logs in
 * at the gateway first; a link of somebody else leads no further.
 */
export class ConnectionSite {
  readonly #options: ConnectionSiteOptions;
  readonly #cookies: PageCookies;
  readonly #origin: string;
  readonly #path: string;
  #underWay = 0;

  constructor(options: ConnectionSiteOptions) {
    const { origin, pathname } = new URL(options.url);
    this.#options = options;
    this.#cookies = new PageCookies(options.links, options.now);
    this.#origin = origin;
    this.#path = pathname;
  }

  /** Host and port of the pages. */
  get host(): string {
    return new URL(this.#origin).host;
  }

  /** Reports whether a path is one of the pages. */
  has(path: string): boolean {
    return path === this.#path || path.startsWith(`${this.#path}/`);
  }

  /** Responds to a request for one of the pages. */
  async serve(request: RequestMessage): Promise<OAuthReply> {
    if (this.#underWay >= MAX_REQUESTS) {
      return pageErrorReply(unavailable("too many requests at a time"));
    }
    this.#underWay++;
    try {
      return await this.#serve(request);
    } catch (error) {
      if (error instanceof OAuthError) return pageErrorReply(error);
      const { log } = this.#options;
      log.warn("Cannot serve a page of connections", {
        error: describeError(error),
      });
      const problem = "the gateway cannot do this at the moment";
      return pageErrorReply(unavailable(problem));
    } finally {
      this.#underWay--;
    }
  }

  async #serve(request: RequestMessage): Promise<OAuthReply> {
    const { target, method } = request;
    const at = target.indexOf("?");
    const path = target.slice(0, at < 0 ? target.length : at);
    const query = new URLSearchParams(at < 0 ? "" : target.slice(at + 1));
    const [page = "", ...rest] = path.slice(this.#path.length + 1).split("/");
    const name = rest.join("/");
    if (method !== (posts.has(page) ? "POST" : "GET")) {
      throw new OAuthError("invalid_request", "the page has another method");
    }
    switch (page) {
      case "client":
        return this.#document(name);
      case "login":
        return await this.#login(request, query);
      case "":
      case "connect":
      case "callback":
        return await this.#show(request, { page, name, query });
      case "start":
      case "revoke":
      case "logout":
        return await this.#change(request, page);
      default:
        throw new OAuthError("invalid_request", "there is no such page");
    }
  }

  /** Describes the client of a backend for its authorization server. */
  #document(name: string): OAuthReply {
    const login = this.#find((each) => pathOf(each) === name);
    return jsonReply(200, this.#options.clients.document(login));
  }

  async #login(
    { headers, cancellation }: RequestMessage,
    query: URLSearchParams,
  ): Promise<OAuthReply> {
    const { login } = this.#options;
    const issuer = query.get("issuer");
    if (issuer !== null) {
      const returnTo = this.#ownPath(query.get("return") ?? "");
      return await this.#startLogin(issuer, returnTo);
    }
    const { user, returnTo } = await login.finish(
      this.#cookies.login(headers),
      query,
      cancellation,
    );
    return redirectReply(this.#origin + returnTo, this.#cookies.begin(user));
  }

  async #startLogin(
    issuer: string,
    returnTo: string,
  ): Promise<OAuthReply> {
    const { location, cookie } = await this.#options.login.start(
      issuer,
      returnTo,
    );
    return redirectReply(location, this.#cookies.startLogin(cookie));
  }

  /** Shows a page to a user who is logged in. */
  async #show(
    request: RequestMessage,
    { page, name, query }: {
      readonly page: "" | "connect" | "callback";
      readonly name: string;
      readonly query: URLSearchParams;
    },
  ): Promise<OAuthReply> {
    const { actions, logins, url } = this.#options;
    const link = query.get("request") ?? "";
    const wanted = page === "connect" ? this.#readLink(link) : undefined;
    const session = this.#cookies.session(request.headers);
    if (session === undefined) {
      if (page === "callback") {
        throw new OAuthError("invalid_request", "you are not logged in here");
      }
      return await this.#askForLogin(request, wanted?.user.issuer);
    }
    if (page === "callback") {
      const login = this.#find((each) => pathOf(each) === name);
      const { cancellation } = request;
      await actions.finish(login, session.user, query, cancellation);
      return redirectReply(`${url}?done=connected`, []);
    }
    if (wanted === undefined) {
      const html = renderConnections(
        session.user,
        await actions.list(logins(), session.user),
        { form: this.#formOf(session), done: query.get("done") },
      );
      return pageReply(html);
    }
    const form = this.#formOf(session);
    if (!isSame(wanted.user, session.user)) {
      const { response } = pageReply(renderForeignLink(session.user, form));
      const problem = "the link is for another user";
      return { response: { ...response, status: 403 }, problem };
    }
    const login = this.#find(({ backend }) => backend === wanted.backend);
    const html = renderConnect(session.user, shownOf(login), {
      form,
      scopes: wanted.scopes,
      request: link,
    });
    return pageReply(html);
  }

  async #askForLogin(
    request: RequestMessage,
    issuer: string | undefined,
  ): Promise<OAuthReply> {
    const { login, url } = this.#options;
    const [first = "", ...others] = login.issuers;
    const { target } = request;
    if (issuer === undefined && others.length > 0) {
      const choice = { base: url, returnTo: target };
      return pageReply(renderIssuers(login.issuers, choice));
    }
    return await this.#startLogin(issuer ?? first, target);
  }

  /** Handles a form of a page. */
  async #change(
    request: RequestMessage,
    action: "start" | "revoke" | "logout",
  ): Promise<OAuthReply> {
    const { url, actions } = this.#options;
    const form = await readForm(request);
    const session = this.#cookies.session(request.headers);
    const origin = request.headers.get("origin");
    if (
      session === undefined ||
      origin !== undefined && origin !== this.#origin ||
      !isEqual(form.get("token") ?? "", session.token)
    ) {
      throw new OAuthError(
        "invalid_request",
        "the form is not of this page, or you are not logged in any more",
      );
    }
    if (action === "logout") return redirectReply(url, this.#cookies.end());
    const login = this.#find((each) => pathOf(each) === form.get("backend"));
    if (action === "revoke") {
      const done = await actions.disconnect(login, session.user);
      return redirectReply(`${url}?done=${done}`, []);
    }
    if (form.get("answer") !== "allow") return redirectReply(url, []);
    const link = form.get("request");
    const wanted = link === undefined ? undefined : this.#readLink(link);
    if (
      wanted !== undefined &&
      (!isSame(wanted.user, session.user) || wanted.backend !== login.backend)
    ) throw new OAuthError("invalid_request", "the link is for another user");
    const scopes = wanted?.scopes ?? [];
    const { cancellation } = request;
    return redirectReply(
      await actions.start(login, session.user, scopes, cancellation),
      [],
    );
  }

  #readLink(link: string): ConnectionRequest {
    const wanted = this.#options.links.read(link);
    if (wanted !== undefined) return wanted;
    throw new OAuthError(
      "invalid_request",
      "the link is not valid any more; use your application again",
    );
  }

  #find(matches: (login: UserLogin) => boolean): UserLogin {
    const login = this.#options.logins().find(matches);
    if (login !== undefined) return login;
    throw new OAuthError("invalid_request", "there is no such service");
  }

  #formOf({ token }: PageSession): PageForm {
    return { base: this.#options.url, token };
  }

  /** Returns a path of the pages: a link must not lead to another site. */
  #ownPath(target: string): string {
    const url = URL.parse(target, this.#origin);
    return url !== null && url.origin === this.#origin && this.has(url.pathname)
      ? url.pathname + url.search
      : this.#path;
  }
}

function unavailable(description: string): OAuthError {
  return new OAuthError("temporarily_unavailable", description, undefined, 5);
}

/** Takes the same time whatever is sent. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(digestOf(one), digestOf(other));
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
