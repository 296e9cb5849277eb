import { type Address, parseAddress } from "../src/api/schema/address.ts";
import type { Settings } from "../src/api/settings.ts";
import type { Clock } from "../src/base/clock.ts";
import type { Log } from "../src/base/log/log.ts";
import { adminEndpoints } from "./endpoints/admin_endpoints.ts";
import {
  disabledServer,
  listen,
  ListenError,
  type RunningServer,
} from "./listen.ts";
import { Profiles } from "./profiles/profiles.ts";
import { withLogin, withRoles } from "./access/check_login.ts";
import { text } from "./http/admin_responses.ts";
import { guard } from "./http/request_guard.ts";
import { createRouter, type Handler, type PeerHandler } from "./http/router.ts";
import { statsEndpoints } from "./endpoints/runtime/stats_endpoints.ts";
import type { AdminTarget } from "./target/target.ts";
import { AuditLog } from "./access/audit_log.ts";
import { FailedAttempts } from "./access/failed_attempts.ts";
import {
  isProtected,
  readAdminToken,
  type TokenRejection,
  withToken,
} from "./access/check_admin_token.ts";
import { createUi, isPageFile } from "./ui/ui.ts";

export { ListenError } from "./listen.ts";
export { AdminTokenError } from "./access/check_admin_token.ts";

/** Dependencies of the admin and stats servers. */
export interface AdminOptions {
  readonly target: AdminTarget;
  readonly clock: Clock;
  readonly log: Log;
  /** Records changes. Default: one of this server. */
  readonly audit?: AuditLog;
}

/**
 * Starts the admin server at `config.adminAddr`.
 * @throws {ListenError} When the address is in use or not local.
 * @throws {AdminTokenError} When the token file contains no valid token.
 */
export async function startAdminServer(
  options: AdminOptions,
): Promise<RunningServer> {
  const { target, log, clock } = options;
  const { settings } = target;
  const address = readAddress("adminAddr", settings.adminAddr);
  const token = await readAdminToken(settings);
  if (!isProtected(settings) && isExposed(address)) {
    warnOfExposure(log, settings);
  }
  if (address.kind === "off") return disabledServer;
  await using cleanup = new AsyncDisposableStack();
  const profiles = cleanup.use(new Profiles(clock, target.dataPlane));
  const next = adminHandler(options, profiles, token);
  const { addresses, close } = await listen({
    name: nameOf("adminAddr", settings.adminAddr),
    address,
    handler: address.kind === "tcp"
      ? guarded(next, address.hosts, target.login?.host)
      : next,
    clock,
    log,
    reusePort: settings.reusePort,
  });
  const owned = cleanup.move();
  return {
    addresses,
    close: () => close().finally(() => owned.disposeAsync()),
  };
}

/**
 * Starts the server for monitoring, at `config.statsAddr`. On loopback, it rejects web pages of other sites as the admin server
 * does; elsewhere it responds to any name, because probes and scrapers use many.
 * @throws {ListenError} When the address is in use or not local.
 */
export async function startStatsServer(
  { target, log, clock }: AdminOptions,
): Promise<RunningServer> {
  const address = readAddress("statsAddr", target.settings.statsAddr);
  const router = createRouter(statsEndpoints(target), log);
  return await listen({
    name: nameOf("statsAddr", target.settings.statsAddr),
    address,
    handler: address.kind === "tcp" && !isExposed(address)
      ? guarded(router, address.hosts)
      : router,
    clock,
    log,
    reusePort: target.settings.reusePort,
    ownAddresses: {
      "config.adminAddr": readAddress("adminAddr", target.settings.adminAddr),
    },
  });
}

/** Requires the token or a login for all paths except the static files of the web UI, which asks for the token itself. */
function adminHandler(
  { target, log, clock, audit = new AuditLog(clock, log) }: AdminOptions,
  { handlers: profiles, pageHandlers }: Profiles,
  token: string | undefined,
): PeerHandler {
  const access = {
    server: "admin",
    readOnly: false,
    profiles: pageHandlers,
  } as const;
  const ui = createUi({ target, clock, log, ...access });
  const endpoints = adminEndpoints({ target, clock, profiles, ui, audit });
  const route = withUi(ui, createRouter(endpoints, log));
  const { login } = target;
  const next = audit.record("none", withRoles(route));
  if (token === undefined && login === undefined) return next;
  const attempts = new FailedAttempts(clock);
  const count = (reason: TokenRejection) => target.countRejection(reason);
  const byToken = token === undefined
    ? undefined
    : withToken({ token, attempts, log, count }, next);
  const byLogin = login && withLogin(login, byToken, next);
  return withPage(ui, byLogin ?? byToken ?? denyAll);
}

/** Routes paths below `/ui/` to the web UI. */
function withUi(ui: Handler, next: Handler): Handler {
  return (request) =>
    new URL(request.url).pathname.startsWith("/ui/")
      ? ui(request)
      : next(request);
}

/** Nobody gets in without a token or a login. */
function denyAll(): Response {
  return text(401, "unauthorized");
}

function withPage(ui: Handler, next: PeerHandler): PeerHandler {
  return (request, peer) =>
    isPageFile(new URL(request.url).pathname)
      ? ui(request)
      : next(request, peer);
}

function guarded(
  next: PeerHandler,
  boundHosts: readonly string[],
  ownHost?: string,
): PeerHandler {
  return (request, peer) =>
    guard(request, boundHosts, ownHost) ?? next(request, peer);
}

function isExposed(address: Address): boolean {
  return address.kind === "tcp" &&
    address.hosts.some((host) => host !== "::1" && !/^127\./.test(host));
}

function warnOfExposure(log: Log, { adminAddr }: Settings): void {
  log.warn(
    'The admin interface is reachable from other machines without a token: set "config.adminToken" or bind it to localhost',
    { adminAddr },
  );
}

function readAddress(field: string, value: string): Address {
  const address = parseAddress(value);
  if (address === undefined) {
    throw new ListenError(nameOf(field, value), "not an address");
  }
  return address;
}

function nameOf(field: string, value: string): string {
  return `config.${field} "${value}"`;
}
