import { AdminLoginUnavailable } from "../../src/gateway/admin_login/admin_login_types.ts";
import type { AdminTarget } from "../target/target.ts";
import { text } from "../http/admin_responses.ts";
import type { PeerHandler } from "../http/router.ts";
import { callerOf, setCaller } from "./admin_caller.ts";
import { includesRole, roleFor } from "../http/roles.ts";

type Login = NonNullable<AdminTarget["login"]>;

/** Place of the login, relative to the web UI. */
const LOGIN = 'login="login"';

/**
 * Passes requests of users who are logged in to `next`, and serves the pages of the login. Requests with a token are for `byToken`.
 * @param byToken `undefined` where there is no token.
 */
export function withLogin(
  login: Login,
  byToken: PeerHandler | undefined,
  next: PeerHandler,
): PeerHandler {
  return async (request, peer) => {
    const page = await login.serve(request);
    if (page !== undefined) return page;
    if (byToken !== undefined && request.headers.has("authorization")) {
      return await byToken(request, peer);
    }
    try {
      return await bySession(login, request, (each) => next(each, peer)) ??
        challenge(request, byToken !== undefined);
    } catch (error) {
      if (!(error instanceof AdminLoginUnavailable)) throw error;
      return text(503, `unavailable: ${error.message}`, { "retry-after": "5" });
    }
  };
}

/** Responds to a request of a session; `undefined` without one. */
async function bySession(
  login: Login,
  request: Request,
  next: (request: Request) => Response | Promise<Response>,
): Promise<Response | undefined> {
  const session = await login.find(request);
  if (session === undefined) return undefined;
  if (!isOfOwnPage(request, login.host)) {
    return text(403, "forbidden: cross-origin request");
  }
  const { user, role, team, setCookies } = session;
  if (role === undefined && roleFor(request) !== "team") {
    return text(403, "forbidden: no role of config.adminLogin is for you");
  }
  setCaller(request, { access: "login", role, user, team });
  const response = await next(request);
  for (const cookie of setCookies) {
    response.headers.append("set-cookie", cookie);
  }
  return response;
}

/** Lets callers do only what their role allows; those without a role need none. */
export function withRoles(next: PeerHandler): PeerHandler {
  return (request, peer) => {
    const caller = callerOf(request);
    const needed = roleFor(request);
    if (needed === "team") {
      return caller?.team === undefined
        ? text(403, "forbidden: config.adminLogin has no team for you")
        : next(request, peer);
    }
    return caller === undefined || includesRole(caller.role, needed)
      ? next(request, peer)
      : text(403, `forbidden: this needs the role "${needed}"`);
  };
}

/** Browsers add the session to requests of other pages of the host, on other ports too. */
function isOfOwnPage(
  { method, headers, url }: Request,
  ownHost: string | undefined,
): boolean {
  const site = headers.get("sec-fetch-site");
  const isRead = method === "GET" || method === "HEAD";
  if (site !== null) {
    return site === "same-origin" || isRead && site === "none" ||
      isRead && headers.get("sec-fetch-dest") === "document";
  }
  const origin = headers.get("origin");
  if (origin === null) return isRead;
  return URL.parse(origin)?.host === (ownHost ?? new URL(url).host);
}

/** Sends browsers that open the page of own keys to the login; the web UI does so itself. */
function challenge(request: Request, hasToken: boolean): Response {
  const { pathname } = new URL(request.url);
  const isNavigation = request.headers.get("sec-fetch-mode") === "navigate";
  if (pathname === "/self" && request.method === "GET" && isNavigation) {
    return text(303, "log in first", { location: "/ui/login?self" });
  }
  const scheme = hasToken ? "Bearer" : "Cookie";
  return text(401, "unauthorized: a login is required", {
    "www-authenticate": `${scheme} realm="gateway admin", ${LOGIN}`,
  });
}
