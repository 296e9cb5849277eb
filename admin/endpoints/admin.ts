import type { Clock } from "../../src/base/clock.ts";
import { dumpConfig } from "./config_dump.ts";
import { listFailures, showFailure } from "./failures.ts";
import { indexPage } from "./index_page.ts";
import { changeLogFilter, showLogFilter } from "./logging.ts";
import { showMemory } from "./memory.ts";
import { describeApi } from "./openapi.ts";
import type { ProfileHandlers } from "../profiles/profiles.ts";
import { json, text } from "../respond.ts";
import type { Endpoint, Handler } from "../router.ts";
import { statsEndpoints } from "./stats.ts";
import type { AdminTarget } from "../target.ts";
import { showTasks } from "./tasks.ts";
import { hasToken } from "../token.ts";
import { traceRequests } from "./trace.ts";

/** What the endpoints answer from. */
export interface EndpointOptions {
  readonly target: AdminTarget;
  readonly clock: Clock;
  readonly profiles: ProfileHandlers;
  /** Answers the page of the web UI. */
  readonly ui: Handler;
}

/** What the admin interface answers. */
export function adminEndpoints(
  { target, clock, profiles, ui }: EndpointOptions,
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
      path: "/debug/tasks",
      purpose: "What is going on now: connections, requests, upstreams",
      methods: { GET: (request) => showTasks(target, request) },
    },
    ...profileEndpoints(profiles),
    {
      path: "/memory",
      purpose: "Memory of the process, and how full our own stores are",
      methods: { GET: () => showMemory(target, clock) },
    },
    {
      path: "/openapi.json",
      purpose: "All of this as an OpenAPI document",
      methods: {
        GET: () =>
          json(describeApi({
            version: target.version["version"] ?? "",
            asksForToken: hasToken(target.settings),
            admin: endpoints,
            stats: statsEndpoints(target),
          })),
      },
    },
    {
      path: "/quitquitquit",
      purpose: "Shuts down gracefully: requests in progress are finished first",
      methods: { POST: () => shutDown(target) },
    },
  ];
  return endpoints;
}

function profileEndpoints(
  { cpu, heap }: ProfileHandlers,
): readonly Endpoint[] {
  const heapProfile: Endpoint = {
    path: "/debug/pprof/heap",
    purpose:
      "Where memory in use was allocated, for <code>go tool pprof</code>",
    methods: { GET: heap },
    isStream: true,
  };
  if (cpu === undefined) return [heapProfile];
  return [{
    path: "/debug/pprof/profile",
    purpose:
      "Where processor time goes, for <code>go tool pprof</code>; <code>?seconds=10&amp;frequency=100</code>",
    methods: { GET: cpu },
    isStream: true,
  }, heapProfile];
}

function shutDown(target: AdminTarget): Response {
  target.shutdown();
  return text(200, "shutdown now");
}
