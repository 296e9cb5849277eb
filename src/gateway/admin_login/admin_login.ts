import {
  type AdminLoginSettings,
  type AdminRole,
  adminRoles,
} from "../../api/admin_login_schema.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { Settings } from "../../api/settings.ts";
import { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Log, Logger } from "../../base/log/log.ts";
import { readFileText } from "../../base/regular_file.ts";
import { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { createLoginState } from "../../dataplane/state/stores/kv_stores.ts";
import { HeaderList } from "../../http/header_list.ts";
import { readText } from "../../identity/documents/document_client.ts";
import type { LoginState } from "../../identity/oauth/grants/login_state.ts";
import { OAuthError } from "../../identity/oauth/protocol/oauth_error.ts";
import {
  type OAuthReply,
  pageErrorReply,
} from "../../identity/oauth/protocol/oauth_reply.ts";
import {
  BrowserLogin,
  type BrowserRequest,
} from "../../identity/openid/browser_login.ts";
import { BrowserSessions } from "../../identity/openid/browser_sessions.ts";
import { CookieNames } from "../../identity/openid/login_cookies.ts";
import {
  nameOfUser,
  OpenIdClient,
} from "../../identity/openid/openid_client.ts";
import {
  AdminLoginUnavailable,
  type AdminSession,
} from "./admin_login_types.ts";
import { compileExpression, Expression } from "../../policy/cel/expression.ts";
import { claimsValue } from "../../policy/cel/values.ts";

const BASE = "/ui/login";
/** Page on which users see their own keys. */
const SELF_PAGE = "/self";
const MAX_FORM_BYTES = 64 * 1024;

/** Dependencies of the login. */
interface AdminLoginOptions {
  readonly settings: AdminLoginSettings;
  readonly login: BrowserLogin;
  readonly logins: LoginState;
  readonly log: Log;
}

/** Logs users in at the admin interface, and knows their roles. */
export class AdminLogin {
  readonly #options: AdminLoginOptions;
  readonly #origin: string | undefined;
  /** The highest first. */
  readonly #roles: readonly (readonly [AdminRole, Expression])[];
  readonly #team: Expression | undefined;

  constructor(options: AdminLoginOptions) {
    const { roles, url, team } = options.settings;
    this.#options = options;
    this.#origin = url === undefined ? undefined : new URL(url).origin;
    this.#roles = adminRoles.toReversed().flatMap((role) => {
      const text = roles[role];
      return text === undefined ? [] : [[role, compile(text)] as const];
    });
    this.#team = team === undefined ? undefined : compile(team);
  }

  /** Host and port at which users reach the admin interface, if a proxy is in front of it. */
  get host(): string | undefined {
    return this.#origin === undefined ? undefined : new URL(this.#origin).host;
  }

  /** Responds to requests for the pages of the login; returns `undefined` for all others. Never rejects. */
  async serve(request: Request): Promise<Response | undefined> {
    const { pathname } = new URL(request.url);
    if (pathname !== BASE && !pathname.startsWith(`${BASE}/`)) return undefined;
    const { log } = this.#options;
    let reply: OAuthReply;
    try {
      reply = await this.#page(request, pathname.slice(BASE.length + 1));
    } catch (error) {
      const isKnown = error instanceof OAuthError;
      if (!isKnown) {
        log.error("Cannot serve a page of the login", {
          error: describeError(error),
        });
      }
      reply = pageErrorReply(
        isKnown
          ? error
          : new OAuthError("server_error", "this is not possible"),
      );
    }
    const { response: { status, headers, body }, problem } = reply;
    if (problem !== undefined) {
      log.warn("Login at the admin interface rejected", { problem });
    }
    const text = await readText(body, MAX_FORM_BYTES);
    return new Response(text === "" ? null : text, {
      status,
      headers: [...headers].map(([name, value]): [string, string] => [
        name,
        value,
      ]),
    });
  }

  /**
   * Returns the user who sends a request; `undefined` without a session.
   * @throws {AdminLoginUnavailable}
   */
  async find(request: Request): Promise<AdminSession | undefined> {
    const { login, settings } = this.#options;
    try {
      const found = await login.session(this.#browserRequest(request));
      if (found === undefined) return undefined;
      const { session: { subject, claims }, setCookies } = found;
      const { issuer } = settings;
      return {
        user: { issuer, subject, name: nameOfUser(claims) },
        role: this.#roleOf(claims),
        team: this.#teamOf(claims),
        setCookies,
      };
    } catch (error) {
      throw new AdminLoginUnavailable(
        error instanceof OAuthError ? error.description : describeError(error),
      );
    }
  }

  async close(): Promise<void> {
    await this.#options.logins.close();
  }

  /** A rule that cannot be evaluated gives no role. */
  #roleOf(claims: JsonObject): AdminRole | undefined {
    const variables = { jwt: claimsValue(claims) };
    const found = this.#roles.find(([, rule]) => rule.test(variables) === true);
    return found?.[0];
  }

  /** An expression that cannot be evaluated gives no team. */
  #teamOf(claims: JsonObject): string | undefined {
    const team = this.#team?.evaluate({ jwt: claimsValue(claims) });
    return typeof team === "string" && team !== "" ? team : undefined;
  }

  async #page(request: Request, page: string): Promise<OAuthReply> {
    const { login } = this.#options;
    const browser = this.#browserRequest(request);
    switch (`${request.method} ${page}`) {
      case "GET ":
        return await login.start({ ...browser, target: pageAfter(request) });
      case "GET callback":
        return await login.finish(browser);
      case "GET logout":
      case "POST logout":
        return await login.logout(browser);
      case "POST backchannel": {
        const form = new URLSearchParams(await readForm(request));
        return await login.endByProvider(new Map(form));
      }
      default:
        throw new OAuthError("invalid_request", "there is no such page");
    }
  }

  #browserRequest(request: Request): BrowserRequest {
    const { origin, pathname, search } = new URL(request.url);
    const cancellation = new Cancellation();
    const { signal } = request;
    if (signal.aborted) cancellation.cancel(signal.reason);
    return {
      method: request.method,
      origin: this.#origin ?? origin,
      target: pathname + search,
      headers: HeaderList.from(request.headers),
      cancellation,
    };
  }
}

/** Creates the login. @throws {Error} When the file with the secret cannot be read. */
export async function createAdminLogin(
  adminLogin: AdminLoginSettings,
  { settings, clock, logger }: {
    readonly settings: Settings;
    readonly clock: Clock;
    readonly logger: Logger;
  },
): Promise<AdminLogin> {
  const { issuer, clientId, clientSecretFile, scopes, url, caFile } =
    adminLogin;
  const secret = clientSecretFile === undefined
    ? adminLogin.clientSecret
    : (await readFileText(clientSecretFile)).trim();
  const log = logger.module("admin");
  const logins = createLoginState({ settings, clock, logger });
  const client = new OpenIdClient({
    issuer,
    clientId,
    scopes,
    authentication: secret === undefined
      ? { method: "none" }
      : { method: "secret", secret, place: undefined },
    clock,
    egress: new EgressPolicy({ settings: settings.egress, log, clock }),
    caCertificates: caFile === undefined
      ? undefined
      : [await readFileText(caFile)],
    cancellation: new Cancellation(),
  });
  const names = new CookieNames("admin");
  const { cookieSecret } = adminLogin;
  const sessions = new BrowserSessions({
    client,
    names,
    binding: `admin ${JSON.stringify([issuer, clientId, scopes])}`,
    secrets: async () => [cookieSecret ?? await logins.secret()],
    records: logins.records,
    clock,
    idleMs: parseDuration(adminLogin.idleTimeout),
    absoluteMs: parseDuration(adminLogin.absoluteTimeout),
  });
  const callback = `${BASE}/callback`;
  const login = new BrowserLogin({
    client,
    sessions,
    names,
    proofs: logins.proofs,
    clock,
    redirectUrl: url === undefined ? callback : new URL(callback, url).href,
    logout: {
      path: `${BASE}/logout`,
      atProvider: true,
      redirectUrl: undefined,
    },
  });
  return new AdminLogin({ settings: adminLogin, login, logins, log });
}

/** Returns the page after the login: a link cannot choose another. */
function pageAfter({ url }: Request): string {
  return new URL(url).searchParams.has("self") ? SELF_PAGE : "/ui/";
}

/** The settings were checked. */
function compile(text: string): Expression {
  const compiled = compileExpression(text);
  if (compiled instanceof Expression) return compiled;
  throw new TypeError(`Cannot use an expression: ${compiled.message}`);
}

/** Reads a form. @throws {OAuthError} When it is too long. */
async function readForm({ body }: Request): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_FORM_BYTES) {
      throw new OAuthError("invalid_request", "the form is too long");
    }
  }
  return text + decoder.decode();
}
