import type { Clock } from "../../src/base/clock.ts";
import { usagePeriods } from "../../src/telemetry/traffic/summed_usage.ts";
import { usageColumns } from "../../src/telemetry/traffic/usage_table.ts";
import { trafficDimensions } from "../../src/telemetry/traffic/traffic_bucket.ts";
import { trafficRanges } from "../../src/telemetry/traffic/traffic_range.ts";
import { mergeChanges } from "../../src/dataplane/calls/account_calls.ts";
import type { AuditLog } from "../access/audit_log.ts";
import { accessEndpoints } from "./access_endpoint.ts";
import { connectionEndpoints } from "./connections_endpoint.ts";
import { dumpConfig } from "./config_dump_endpoint.ts";
import { grantEndpoints } from "./grants_endpoint.ts";
import { indexPage } from "../http/index_page.ts";
import { changeLogFilter, showLogFilter } from "./logging_endpoint.ts";
import { mcpEndpoints } from "./mcp_servers_endpoint.ts";
import { showMemory } from "./runtime/memory_endpoint.ts";
import { describeApi } from "../http/openapi.ts";
import { refreshKeys } from "./keys_endpoint.ts";
import {
  profileEndpoints,
  type ProfileHandlers,
} from "../profiles/profiles.ts";
import { json, text as textResponse } from "../http/admin_responses.ts";
import { both, get, post, stream } from "../http/declare_endpoint.ts";
import {
  choice,
  integer,
  type OperationText,
  text,
  TEXT_TYPE,
} from "../http/operation_text.ts";
import type { Endpoint, Handler } from "../http/router.ts";
import { selfEndpoints } from "./self/self_endpoints.ts";
import { statsEndpoints } from "./runtime/stats_endpoints.ts";
import type { AdminTarget } from "../target/target.ts";
import { showTasks, taskLimit } from "./runtime/tasks_endpoint.ts";
import { hasToken } from "../access/check_admin_token.ts";
import { resetLimits, showUsage } from "./usage_endpoint.ts";
import {
  failureLimit,
  listFailures,
  listRequests,
  requestLimit,
  requestStatuses,
  showFailure,
  showRequest,
} from "./requests_endpoint.ts";
import { showTraffic } from "./traffic_endpoint.ts";
import { tryChange } from "./try_endpoint.ts";
import { traceCount, tracePort, traceRequests } from "./trace_endpoint.ts";

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
export function adminEndpoints(options: EndpointOptions): readonly Endpoint[] {
  const { target, clock, profiles, ui, audit } = options;
  const endpoints: readonly Endpoint[] = [
    get("/", () => indexPage(endpoints), {
      summary: "Lists the endpoints as a page",
      ok: "The page",
      type: "text/html",
    }),
    get("/ui", ui, {
      summary: "Web UI",
      others: { 308: "The page is at ui/" },
    }),
    get("/config_dump", () => dumpConfig(target), {
      summary: "Active configuration with redacted secrets",
      ok: "The configuration",
    }),
    logging(target),
    get("/audit", () => showAudit(target, audit), {
      summary:
        "The last administrative changes, and those of accounts by their users, newest first: who, what, and the outcome",
      ok: "The changes",
    }),
    post("/keys/refresh", () => refreshKeys(target), {
      summary: "Fetches keys and metadata of identity providers again",
      ok: "Their state, with the error of each failed fetch",
    }),
    ...mcpEndpoints(target),
    ...accessEndpoints(target),
    ...connectionEndpoints(target),
    ...grantEndpoints(target),
    ...selfEndpoints({ target, clock }),
    ...requestEndpoints(options),
    ...policyEndpoints(options),
    ...debugEndpoints(options),
    ...profileEndpoints(profiles),
    get("/memory", () => showMemory(target, clock), {
      summary: "Memory of the process and occupancy of bounded stores",
      ok:
        "Bytes and counts. On Linux also smaps and cgroup, which are null in the executable: it may not read /proc and /sys",
    }),
    get("/openapi.json", () => json(describeEndpoints(target, endpoints)), {
      summary: "OpenAPI document of these endpoints",
      ok: "The document",
    }),
    post("/quitquitquit", () => shutDown(target), {
      summary: "Shuts down gracefully after the requests in progress",
      ok: "Shutdown has started",
      type: TEXT_TYPE,
    }),
  ];
  return endpoints;
}

function logging(target: AdminTarget): Endpoint {
  const path = "/logging";
  const ok = "One line with the filter";
  return both(
    get(path, (request) => showLogFilter(target, request), {
      summary: "Active log level, default and per module",
      ok,
      type: TEXT_TYPE,
      others: { 400: "Unexpected parameter" },
    }),
    post(path, (request) => changeLogFilter(target, request), {
      summary: "Changes the log level of the given modules",
      parameters: [
        text("level", "Filter such as info,proxy=debug; may be repeated"),
        text("reset", "Resets to the configured filter first"),
      ],
      ok,
      type: TEXT_TYPE,
    }),
  );
}

function requestEndpoints(
  { target, clock }: EndpointOptions,
): readonly Endpoint[] {
  return [
    get("/usage", (request) => showUsage(target, clock, request), {
      summary:
        "Use of LLM tokens and their cost, and calls of MCP tools, by team, model and so on",
      parameters: [
        text(
          "by",
          `What to add up, up to four: ${usageColumns.join(", ")}`,
        ),
        text("since", "Age of the oldest hour, such as 24h or 7d"),
        text("month", "Only this month (UTC), such as 2026-07, or current"),
        text("from", "First day (UTC), such as 2026-07-01"),
        text("to", "Last day (UTC)"),
        choice("per", "Divides the sums by time", usagePeriods),
        choice("format", "Format of the response", ["json", "csv"], "json"),
      ],
      ok: "The sums, the largest first",
    }),
    get("/traffic", (request) => showTraffic(target, request), {
      summary:
        "Traffic of the last minutes or hours: rates, errors, latencies, tokens and cost, with sums by route, backend, arm, model, key, MCP server or tool",
      parameters: [
        choice("range", "Span of time that ends now", trafficRanges, "15m"),
        choice("by", "Whose sums to list", trafficDimensions, "route"),
        text(
          "name",
          "Only the traffic of this route, backend, model or key",
        ),
      ],
      ok: "Curves and sums",
    }),
    get("/requests", (request) => listRequests(target, request), {
      summary:
        "Recent requests, newest first: those that failed, and a sample of the others",
      parameters: requestParameters,
      ok: "The requests",
    }),
    get("/requests/*", (request) => showRequest(target, request), {
      summary:
        "Everything about one of them: cause, advice, attempts and trace",
      ok: "The report",
      others: { 404: "No longer recorded" },
    }),
  ];
}

function policyEndpoints({ target }: EndpointOptions): readonly Endpoint[] {
  return [
    post("/try", (request) => tryChange(target, request), {
      summary:
        "Says what a rule, a limit or a configuration would change on the newest requests; the body has rule, limit or files, and last",
      ok: "Counts of the requests that would change, and the newest of them",
      others: { 400: "Invalid body or change", 409: "No configuration files" },
    }),
    post("/limits/reset", (request) => resetLimits(target, request), {
      summary: "Makes budgets unused",
      parameters: [
        text("limit", "Only the limit of this name"),
        text("key", "Only budgets of this key"),
      ],
      ok: "The number of budgets",
    }),
  ];
}

const requestParameters = [
  choice("status", "Only requests with this outcome", requestStatuses),
  text("route", "Only routes with this in their name"),
  text("model", "Only models with this in their name"),
  text("key", "Only clients with this in their identity"),
  text("mcpServer", "Only messages to MCP servers with this in their name"),
  text("mcpTool", "Only calls of MCP tools with this in their name"),
  text("text", "Only requests with this in their line"),
  text(
    "since",
    "Only requests recorded since, in milliseconds since the epoch: `takenAt` of the last response",
  ),
  integer("limit", "Maximum number", requestLimit),
];

function debugEndpoints(
  { target, clock }: EndpointOptions,
): readonly Endpoint[] {
  const trace: Handler = (request) => traceRequests(target, clock, request);
  return [
    both(
      stream("/debug/trace", trace, traceText),
      post("/debug/trace", trace, traceText),
    ),
    get("/debug/requests", (request) => listFailures(target, request), {
      summary: "Recent failed requests, newest first",
      parameters: [integer("limit", "Maximum number", failureLimit)],
      ok: "The requests",
    }),
    get("/debug/requests/*", (request) => showFailure(target, request), {
      summary:
        "Explains why a request failed, by its x-request-id: cause, advice and trace",
      ok: "The report",
      others: { 404: "No report with this id" },
    }),
    get("/debug/tasks", (request) => showTasks(target, request), {
      summary:
        "Current activity: connections, requests, upstreams, refreshes, leases, watchers",
      parameters: [
        integer(
          "limit",
          "Maximum number of connections and requests",
          taskLimit,
        ),
      ],
      ok: "The tasks",
    }),
  ];
}

const traceText: OperationText = {
  summary: "Traces the next requests as server-sent events",
  parameters: [
    text("filter", "CEL expression that selects requests"),
    text("expression", "Alias of filter"),
    integer("count", "Number of requests", traceCount),
    text("gateway", "Only requests of this gateway"),
    integer("port", "Only requests to this port", tracePort),
    text("group", "Streams of one group share the requests"),
  ],
  ok:
    "An event per step and a comment every second; ends after the last request",
  type: "text/event-stream",
  others: { 503: "Too many concurrent traces" },
};

function describeEndpoints(target: AdminTarget, admin: readonly Endpoint[]) {
  return describeApi({
    version: target.version["version"] ?? "",
    requiresToken: hasToken(target.settings),
    admin,
    stats: statsEndpoints(target),
  });
}

function shutDown(target: AdminTarget): Response {
  target.shutdown();
  return textResponse(200, "shutdown now");
}

/** Users change their accounts on pages of the threads with traffic. */
async function showAudit(
  { settings, dataPlane }: AdminTarget,
  audit: AuditLog,
): Promise<Response> {
  const own = audit.read();
  if (settings.connections === undefined) return json(own);
  const ofUsers = await dataPlane.call("accountChanges");
  return json(mergeChanges<{ readonly at: string }>([own, ofUsers]));
}
