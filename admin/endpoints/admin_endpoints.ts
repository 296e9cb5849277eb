import type { Clock } from "../../src/base/clock.ts";
import type { AuditLog } from "../access/audit_log.ts";
import { dumpConfig } from "./config_dump_endpoint.ts";
import { indexPage } from "./index_page.ts";
import { changeLogFilter, showLogFilter } from "./logging_endpoint.ts";
import { showMemory } from "./memory_endpoint.ts";
import { describeApi } from "./openapi.ts";
import { refreshKeys } from "./keys_endpoint.ts";
import type { ProfileHandlers } from "../profiles/profiles.ts";
import { json, text } from "../http/admin_responses.ts";
import type { Endpoint, Handler } from "../http/router.ts";
import { statsEndpoints } from "./stats_endpoints.ts";
import type { AdminTarget } from "../target/target.ts";
import { showTasks } from "./tasks_endpoint.ts";
import { hasToken } from "../access/check_admin_token.ts";
import { resetLimits, showUsage } from "./usage_endpoint.ts";
import {
  listFailures,
  listRequests,
  showFailure,
  showRequest,
} from "./requests_endpoint.ts";
import { showTraffic } from "./traffic_endpoint.ts";
import { traceRequests } from "./trace_endpoint.ts";

/** Dependencies of the endpoints. */
export interface EndpointOptions {
  readonly target: AdminTarget;
  readonly clock: Clock;
  readonly profiles: ProfileHandlers;
  /** Serves the web UI. */
  readonly ui: Handler;
  readonly audit: AuditLog;
}

/** Lists the endpoints of the admin interface. */
export function adminEndpoints(
  { target, clock, profiles, ui, audit }: EndpointOptions,
): readonly Endpoint[] {
  const trace = (request: Request) => traceRequests(target, clock, request);
  const endpoints: readonly Endpoint[] = [
    { path: "/", methods: { GET: () => indexPage(endpoints) } },
    { path: "/ui", methods: { GET: ui } },
    { path: "/config_dump", methods: { GET: () => dumpConfig(target) } },
    {
      path: "/logging",
      methods: {
        GET: (request) => showLogFilter(target, request),
        POST: (request) => changeLogFilter(target, request),
      },
    },
    { path: "/audit", methods: { GET: () => json(audit.read()) } },
    {
      path: "/keys/refresh",
      methods: { POST: () => refreshKeys(target) },
    },
    {
      path: "/usage",
      methods: { GET: (request) => showUsage(target, clock, request) },
    },
    {
      path: "/traffic",
      methods: { GET: (request) => showTraffic(target, request) },
    },
    {
      path: "/requests",
      methods: { GET: (request) => listRequests(target, request) },
    },
    {
      path: "/requests/*",
      methods: { GET: (request) => showRequest(target, request) },
    },
    {
      path: "/limits/reset",
      methods: { POST: (request) => resetLimits(target, request) },
    },
    {
      path: "/debug/trace",
      methods: { GET: trace, POST: trace },
      isStream: true,
    },
    {
      path: "/debug/requests",
      methods: { GET: (request) => listFailures(target, request) },
    },
    {
      path: "/debug/requests/*",
      methods: { GET: (request) => showFailure(target, request) },
    },
    {
      path: "/debug/tasks",
      methods: { GET: (request) => showTasks(target, request) },
    },
    ...profileEndpoints(profiles),
    { path: "/memory", methods: { GET: () => showMemory(target, clock) } },
    {
      path: "/openapi.json",
      methods: {
        GET: () =>
          json(describeApi({
            version: target.version["version"] ?? "",
            requiresToken: hasToken(target.settings),
            admin: endpoints,
            stats: statsEndpoints(target),
          })),
      },
    },
    { path: "/quitquitquit", methods: { POST: () => shutDown(target) } },
  ];
  return endpoints;
}

function profileEndpoints(
  { cpu, heap }: ProfileHandlers,
): readonly Endpoint[] {
  const heapProfile: Endpoint = {
    path: "/debug/pprof/heap",
    methods: { GET: heap },
    isStream: true,
  };
  if (cpu === undefined) return [heapProfile];
  return [{
    path: "/debug/pprof/profile",
    methods: { GET: cpu },
    isStream: true,
  }, heapProfile];
}

function shutDown(target: AdminTarget): Response {
  target.shutdown();
  return text(200, "shutdown now");
}
