import { parseDuration } from "../../../api/schema/duration.ts";
import { Cancellation, unlessCancelled } from "../../../base/cancellation.ts";
import {
  BrowserLogin,
  type BrowserRequest,
} from "../../../identity/openid/browser_login.ts";
import type { BrowserSession } from "../../../identity/openid/browser_session.ts";
import { BrowserSessions } from "../../../identity/openid/browser_sessions.ts";
import { CookieNames } from "../../../identity/openid/login_cookies.ts";
import { OpenIdClient } from "../../../identity/openid/openid_client.ts";
import { readForm } from "../../../identity/oauth/authorization_server.ts";
import { OAuthError } from "../../../identity/oauth/protocol/oauth_error.ts";
import {
  jsonErrorReply,
  type OAuthReply,
  pageErrorReply,
} from "../../../identity/oauth/protocol/oauth_reply.ts";
import { sha256 } from "../../../identity/oauth/protocol/seal.ts";
import type { RequestMessage, ResponseMessage } from "../../../http/message.ts";
import { pathOf } from "../../../route/normalize_target.ts";
import { rejectWith } from "../../authentication/auth_responses.ts";
import {
  denialPage,
  setTokenClaims,
} from "../../authentication/request_identity.ts";
import { withPrivateCache } from "../../authorization/private_cache.ts";
import { isAuthenticated } from "../../contract/alternatives.ts";
import type {
  Policy,
  PolicyContext,
  ReadableBy,
  RequestVerdict,
} from "../../contract/policy.ts";
import type { PolicyOptions } from "../../contract/policy_kind.ts";
import {
  type PolicyServices,
  servicesIn,
} from "../../contract/policy_services.ts";
import { Rejection } from "../../contract/rejection.ts";
import { defineSlot } from "../../contract/slot.ts";
import { clientOrigin } from "../endpoints/client_origin.ts";
import { loginServices } from "../login_services.ts";
import { denyWithPage, isNavigation, prefersPage } from "./denial_page.ts";
import { type Oidc, ownPathsOf, settingsOf } from "./oidc_schema.ts";
import {
  readCas,
  readClientSecret,
  readCookieSecrets,
} from "./oidc_secrets.ts";

/** Separates the sessions of one login from those of others. */
interface LoginBinding {
  /** Of cookies: letters and digits. */
  readonly name: string;
  /** Everything on which the content of a session depends. */
  readonly text: string;
}

/** Returns the binding of a login: routes with the same client and scopes share their sessions. */
export function bindingOf(
  { issuer, clientId, scopes = [] }: Oidc,
): LoginBinding {
  const text = JSON.stringify([issuer, clientId, scopes.toSorted()]);
  return { text, name: sha256(text).replace(/[^a-zA-Z0-9]/g, "").slice(0, 8) };
}

/** Creates the policy; without a secret for cookies, that of the process or its store seals them. */
export function createOidc(
  config: Oidc,
  options: PolicyOptions,
): Policy<"oidc"> {
  const { services } = options;
  const { clock, egress } = services;
  const { logins } = servicesIn(services, loginServices);
  const { session, logout } = settingsOf(config);
  const { issuer, clientId, scopes = [], parameters = {} } = config;
  const secret = readClientSecret(config, options);
  const cookieSecrets = readCookieSecrets(config, options);
  if (cookieSecrets === undefined) logins.warnOfLoss();
  const client = new OpenIdClient({
    issuer,
    clientId,
    scopes,
    parameters,
    authentication: secret === undefined
      ? { method: "none" }
      : { method: "secret", secret, place: undefined },
    clock,
    egress,
    caCertificates: readCas(config, options),
    cancellation: new Cancellation(),
  });
  const { name, text: binding } = bindingOf(config);
  const names = new CookieNames(name);
  const sessions = new BrowserSessions({
    client,
    names,
    binding,
    secrets: async () => cookieSecrets ?? [await logins.secret()],
    records: logins.records,
    clock,
    idleMs: parseDuration(session.idleTimeout),
    absoluteMs: parseDuration(session.absoluteTimeout),
  });
  const login = new BrowserLogin({
    client,
    sessions,
    names,
    proofs: logins.proofs,
    clock,
    redirectUrl: config.redirectUrl,
    logout: { redirectUrl: undefined, ...logout },
  });
  return new OidcPolicy(config, login, services.trustsPeer);
}

type OidcVerdict = RequestVerdict<"oidc">;

/** `Set-Cookie` values of the response. */
const sessionCookies = defineSlot<readonly string[]>("sessionCookies");

class OidcPolicy implements Policy<"oidc"> {
  readonly #config: Oidc;
  readonly #paths: ReturnType<typeof ownPathsOf>;
  readonly #login: BrowserLogin;
  readonly #trustsPeer: PolicyServices["trustsPeer"];
  readonly #origins: ReadonlySet<string>;

  constructor(
    config: Oidc,
    login: BrowserLogin,
    trustsPeer: PolicyServices["trustsPeer"],
  ) {
    this.#config = config;
    this.#paths = ownPathsOf(config);
    this.#login = login;
    this.#trustsPeer = trustsPeer;
    const { allowedOrigins = [] } = config;
    this.#origins = new Set(allowedOrigins.map((url) => new URL(url).origin));
  }

  onRequest(context: PolicyContext): Promise<OidcVerdict> {
    const { request } = context;
    return unlessCancelled(this.#handle(context), request.cancellation);
  }

  onResponse({ slots }: PolicyContext, response: ResponseMessage): void {
    const cookies = slots.get(sessionCookies);
    if (cookies === undefined) return;
    for (const cookie of cookies) response.headers.append("set-cookie", cookie);
    withPrivateCache(response.headers);
  }

  readableBy({ request }: PolicyContext): ReadableBy | undefined {
    return Object.values(this.#paths).includes(pathOf(request.target))
      ? "no page"
      : undefined;
  }

  async #handle(context: PolicyContext): Promise<OidcVerdict> {
    const { request, slots, trace } = context;
    const page = this.#pageOf(request);
    if (page !== undefined) return await serve(page);
    if (this.#config.mode === "AnyOf" && slots.get(isAuthenticated)) return;
    const browser = this.#browserRequest(request);
    try {
      const found = await this.#login.session(browser);
      if (found === undefined) return await this.#demandLogin(browser, request);
      if (!this.#isTrusted(browser, request)) {
        const message = "the request is of a page of another origin";
        trace?.skip(message);
        return reject("forbidden", message);
      }
      this.#accept(found.session, context);
      if (found.setCookies.length > 0) {
        slots.set(sessionCookies, found.setCookies);
      }
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return reject("temporarily_unavailable", error.description, {
        cause: error.message,
        headers: { "retry-after": String(error.retryAfter ?? 5) },
      });
    }
  }

  /** Returns what responds to a request for one of the policy's own pages; `undefined` for all others. */
  #pageOf(request: RequestMessage): (() => Promise<OAuthReply>) | undefined {
    const { method } = request;
    const login = this.#login;
    switch (pathOf(request.target)) {
      case this.#paths.callback:
        return method === "GET"
          ? () => login.finish(this.#browserRequest(request))
          : wrongMethod;
      case this.#paths.logout:
        return method === "GET" || method === "POST"
          ? () => login.logout(this.#browserRequest(request))
          : wrongMethod;
      case this.#paths.backChannel:
        return method === "POST"
          ? async () => {
            const form = await readForm(request);
            return await login.endByProvider(form);
          }
          : wrongMethod;
    }
  }

  #browserRequest(request: RequestMessage): BrowserRequest {
    const { method, target, headers, cancellation } = request;
    const { redirectUrl } = this.#config;
    const origin = redirectUrl.startsWith("/")
      ? clientOrigin(request, this.#trustsPeer(request.source))
      : new URL(redirectUrl).origin;
    return { method, target, headers, cancellation, origin };
  }

  #accept(session: BrowserSession, { slots, request, trace }: PolicyContext) {
    const { mode, forwardAccessToken } = this.#config;
    const { claims, tokens: { accessToken } } = session;
    // Another policy may accept subjects of other issuers.
    setTokenClaims(slots, claims, mode === "AnyOf", accessToken);
    if (prefersPage(request)) {
      slots.set(denialPage, () => denyWithPage(claims, this.#paths.logout));
    }
    if (forwardAccessToken) {
      request.headers.set("authorization", `Bearer ${accessToken}`);
    }
    trace?.apply({ issuer: this.#config.issuer });
  }

  /** Sends navigations to the login; what a program or a script requests gets 401, since it could not log in. */
  async #demandLogin(
    browser: BrowserRequest,
    request: RequestMessage,
  ): Promise<OidcVerdict> {
    const description = "a login is required";
    if (!isNavigation(request)) return reject("unauthorized", description);
    const { response } = await this.#login.start(browser);
    return response;
  }

  /** Requests that change something have to come from own pages; those that `SameSite` does not stop are of sibling hosts. */
  #isTrusted({ origin }: BrowserRequest, request: RequestMessage): boolean {
    const { method, headers, upgrade } = request;
    if (safeMethods.has(method) && upgrade === undefined) return true;
    const sent = headers.get("origin");
    if (sent === undefined) {
      const site = headers.get("sec-fetch-site") ?? "same-origin";
      return site === "same-origin" || site === "none";
    }
    return sent === origin || this.#origins.has(sent);
  }
}

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

async function serve(page: () => Promise<OAuthReply>): Promise<OidcVerdict> {
  const { response, problem } = await page().catch((error) => {
    if (!(error instanceof OAuthError)) throw error;
    return pageErrorReply(error);
  });
  return problem === undefined
    ? response
    : new Rejection("oidc", problem, response);
}

function wrongMethod(): Promise<OAuthReply> {
  return Promise.resolve(
    jsonErrorReply(new OAuthError("invalid_request", "wrong method")),
  );
}

function reject(
  error: "forbidden" | "temporarily_unavailable" | "unauthorized",
  description: string,
  { cause = description, headers = {} }: {
    readonly cause?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Rejection<"oidc"> {
  return new Rejection("oidc", cause, rejectWith(error, description, headers));
}
