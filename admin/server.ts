import { type Address, parseAddress } from "../src/api/address.ts";
import type { Clock } from "../src/base/clock.ts";
import type { Log } from "../src/base/log.ts";
import { dumpConfig } from "./config_dump.ts";
import { listFailures, showFailure } from "./failures.ts";
import { indexPage } from "./index_page.ts";
import { listen, ListenError, type RunningServer } from "./listen.ts";
import { changeLogFilter, showLogFilter } from "./logging.ts";
import { guard } from "./request_guard.ts";
import { text } from "./respond.ts";
import { createRouter, type Endpoint, type Handler } from "./router.ts";
import { statsEndpoints } from "./stats.ts";
import type { AdminTarget } from "./target.ts";
import { traceRequests } from "./trace.ts";
import { createUi } from "./ui/ui.ts";

export { ListenError } from "./listen.ts";

/** What the servers beside the data plane need. */
export interface AdminOptions {
  readonly target: AdminTarget;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Starts the server for whoever debugs this process, at `config.adminAddr`.
 * @throws {ListenError} When the address is taken or not ours.
 */
export async function startAdminServer(
  options: AdminOptions,
): Promise<RunningServer> {
  const { target, log, clock } = options;
  const address = readAddress("adminAddr", target.settings.adminAddr);
  const ui = createUi({ target, clock, log, readOnly: false });
  const route = withUi(
    ui,
    createRouter(adminEndpoints(target, clock, ui), log),
  );
  return await listen({
    name: nameOf("adminAddr", target.settings.adminAddr),
    address,
    handler: address.kind === "tcp" ? guarded(route, address.hosts) : route,
    clock,
  });
}

/**
 * Starts the server for monitoring, at `config.statsAddr`. It answers under any name: probes and scrapers use many, and
 * there is nothing to change here.
 * @throws {ListenError} When the address is taken or not ours.
 */
export async function startStatsServer(
  { target, log, clock }: AdminOptions,
): Promise<RunningServer> {
  return await listen({
    name: nameOf("statsAddr", target.settings.statsAddr),
    address: readAddress("statsAddr", target.settings.statsAddr),
    handler: createRouter(statsEndpoints(target), log),
    clock,
    ours: {
      "config.adminAddr": readAddress("adminAddr", target.settings.adminAddr),
    },
  });
}

function adminEndpoints(
  target: AdminTarget,
  clock: Clock,
  ui: Handler,
): readonly Endpoint[] {
  const trace = (request: Request) => traceRequests(target, clock, request);
  const endpoints: readonly Endpoint[] = [
    {
      path: "/",
      purpose: "This page",
      methods: { GET: () => indexPage(endpoints) },
    },
    {
      path: "/ui",
      purpose: "Web UI: all of this in a page",
      methods: { GET: ui },
    },
    {
      path: "/config_dump",
      purpose: "Configuration in force, secrets redacted",
      methods: { GET: () => dumpConfig(target) },
    },
    {
      path: "/logging",
      purpose:
        "Log level, as a whole and by module; <code>?level=info,proxy=debug</code> sets it",
      methods: {
        GET: (request) => showLogFilter(target, request),
        POST: (request) => changeLogFilter(target, request),
      },
    },
    {
      path: "/debug/trace",
      purpose:
        "What happens to the next request, as server-sent events; <code>?filter=&lt;cel&gt;</code> chooses, <code>&amp;count=&lt;n&gt;</code> goes on",
      methods: { GET: trace, POST: trace },
      isStream: true,
    },
    {
      path: "/debug/requests",
      purpose: "Requests that failed, the newest first",
      methods: { GET: (request) => listFailures(target, request) },
    },
    {
      path: "/debug/requests/*",
      purpose:
        "Why a request failed, by its x-request-id: cause, advice and trace",
      methods: { GET: (request) => showFailure(target, request) },
    },
    {
      path: "/quitquitquit",
      purpose: "Shuts down gracefully: requests in progress are finished first",
      methods: { POST: () => shutDown(target) },
    },
  ];
  return endpoints;
}

function shutDown(target: AdminTarget): Response {
  target.shutdown();
  return text(200, "shutdown now");
}

/** What is below `/ui/` is for the page alone. */
function withUi(ui: Handler, next: Handler): Handler {
  return (request) =>
    new URL(request.url).pathname.startsWith("/ui/")
      ? ui(request)
      : next(request);
}

function guarded(next: Handler, boundHosts: readonly string[]): Handler {
  return (request) => guard(request, boundHosts) ?? next(request);
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
