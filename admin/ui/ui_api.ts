import type { Clock } from "../../src/base/clock.ts";
import type { Log } from "../../src/base/log/log.ts";
import type { DataPlane } from "../../src/dataplane/data_plane.ts";
import {
  changeAccess,
  createAccess,
  listAccess,
} from "../endpoints/access_endpoint.ts";
import {
  listConnections,
  revokeConnection,
} from "../endpoints/connections_endpoint.ts";
import { listGrants, revokeGrants } from "../endpoints/grants_endpoint.ts";
import {
  showConfig,
  showConfigPart,
} from "../endpoints/config_dump_endpoint.ts";
import { showKeys } from "../endpoints/keys_endpoint.ts";
import {
  changeLogFilter,
  showLogFilter,
} from "../endpoints/logging_endpoint.ts";
import {
  approveMcpTools,
  listMcpServers,
  listMcpTools,
  revokeMcpTools,
} from "../endpoints/mcp_servers_endpoint.ts";
import { showMemory } from "../endpoints/runtime/memory_endpoint.ts";
import { listRequests, showRequest } from "../endpoints/requests_endpoint.ts";
import { showTraffic } from "../endpoints/traffic_endpoint.ts";
import { showTasks } from "../endpoints/runtime/tasks_endpoint.ts";
import { tryChange } from "../endpoints/try_endpoint.ts";
import { showUsage } from "../endpoints/usage_endpoint.ts";
import { json, respond, text } from "../http/admin_responses.ts";
import type { UiStatus } from "./responses.ts";
import { selectBudgets } from "./select_budgets.ts";
import type { ProfileHandlers } from "../profiles/profiles.ts";
import { playgroundHandlers } from "./playground/playground_api.ts";
import { sourceHandlers } from "./source_api.ts";
import type { Endpoint, Handler } from "../http/router.ts";
import { callerOf } from "../access/admin_caller.ts";
import { includesRole, type PathOf } from "../http/roles.ts";
import type { AdminRole } from "../../src/api/admin_login_schema.ts";
import type { AdminTarget } from "../target/target.ts";
import { traceRequests } from "../endpoints/trace_endpoint.ts";

const profileNames = ["cpu", "heap"] as const;
const profileRoles = { cpu: "operator", heap: "admin" } as const;

/** Stores on the page of memory: each limit of a route has one. */
const SHOWN_STORES = 100;

/** Dependencies and access of the web UI. */
export interface UiOptions {
  readonly target: AdminTarget;
  readonly clock: Clock;
  readonly log: Log;
  /** Server of the UI. On a gateway, traces include the page's own requests. */
  readonly server: "admin" | "gateway";
  /** The page cannot change log levels. */
  readonly readOnly: boolean;
  /** Enables the view of profiles. */
  readonly profiles?: ProfileHandlers;
}

/** Lists the endpoints for the page: only those that it needs. */
export function uiApi(options: UiOptions): readonly Endpoint[] {
  const { target, clock, readOnly, profiles } = options;
  const { dataPlane } = target;
  return [
    get("status", (request) => json(describeStatus(options, request))),
    get("config", () => showConfig(target)),
    get("config/part", (request) => showConfigPart(target, request)),
    get("metrics", (request) => showMetrics(dataPlane, request)),
    get("budgets", async (request) => {
      const { budgets } = await dataPlane.call("describeState");
      return json(selectBudgets(budgets, request));
    }),
    get("keys", () => showKeys(target)),
    get("memory", () => showMemory(target, clock, SHOWN_STORES)),
    get("tasks", (request) => showTasks(target, request)),
    get("usage", (request) => showUsage(target, clock, request)),
    get("traffic", (request) => showTraffic(target, request)),
    get("requests", (request) => listRequests(target, request)),
    get("requests/*", (request) => showRequest(target, request)),
    stream("trace", (request) => traceRequests(target, clock, request)),
    logging(target, readOnly),
    ...mcp(options),
    ...access(options),
    ...accounts(options),
    ...source(options),
    ...playground(options),
    ...profileNames.flatMap((name) => {
      const handler = profiles?.[name];
      return handler === undefined ? [] : [stream(`profiles/${name}`, handler)];
    }),
  ];
}

/** Returns the metrics with the given names; without names, all. */
async function showMetrics(
  dataPlane: DataPlane,
  request: Request,
): Promise<Response> {
  const metrics = await dataPlane.call("collectMetrics", readNames(request));
  return respond(200, "text/plain; charset=utf-8", metrics);
}

function readNames({ url }: Request): ReadonlySet<string> | undefined {
  const names = new URL(url).searchParams.getAll("name");
  return names.length === 0 ? undefined : new Set(names);
}

type UiPath<Method extends "GET" | "POST"> = PathOf<Method, "/ui/api/">;

function get(path: UiPath<"GET">, handler: Handler): Endpoint {
  return { path: `/ui/api/${path}`, methods: { GET: handler } };
}

/** Creates an endpoint that accepts posts of the page only. */
function post(path: UiPath<"POST">, handler: Handler): Endpoint {
  const checked: Handler = (request) =>
    isFromPage(request)
      ? handler(request)
      : text(403, "forbidden: cross-origin request");
  return { path: `/ui/api/${path}`, methods: { POST: checked } };
}

function stream(path: UiPath<"GET">, handler: Handler): Endpoint {
  return { ...get(path, handler), isStream: true };
}

/** Lists the endpoints of the page that edits the configuration. Only the admin server, which has a token, checks and applies drafts. */
function source({ target, server }: UiOptions): readonly Endpoint[] {
  if (target.editor === undefined) return [];
  const source = sourceHandlers(target, target.editor);
  const shown = get("source", source.show);
  if (server !== "admin") return [shown];
  return [
    shown,
    post("source/check", source.check),
    post("source/compare", source.compare),
    post("source/apply", source.apply),
    get("source/history", source.history),
    post("source/history/compare", source.compareWithPast),
    get("source/files/compare", source.compareWithFiles),
    post("source/history/apply", source.goBack),
    post("try", (request) => tryChange(target, request)),
  ];
}

/** Lists the endpoints for MCP servers. Only the admin server, which has a token, approves tools. */
function mcp({ target, server, readOnly }: UiOptions): readonly Endpoint[] {
  const shown = [
    get("mcp/servers", () => listMcpServers(target)),
    get("mcp/tools", (request) => listMcpTools(target, request)),
  ];
  if (server !== "admin" || readOnly) return shown;
  return [
    ...shown,
    post("mcp/approve", (request) => approveMcpTools(target, request)),
    post("mcp/revoke", (request) => revokeMcpTools(target, request)),
  ];
}

/** Lists the endpoints for keys and teams in the store. Only the admin server, which has a token, shows and changes them. */
function access({ target, server, readOnly }: UiOptions): readonly Endpoint[] {
  if (server !== "admin" || readOnly) return [];
  return [
    get("access/keys", (request) => listAccess(target, "key", request)),
    get("access/teams", (request) => listAccess(target, "team", request)),
    post(
      "access/create/key",
      (request) => createAccess(target, "key", request),
    ),
    post(
      "access/create/team",
      (request) => createAccess(target, "team", request),
    ),
    post("access/change/*", (request) => changeAccess(target, "key", request)),
    post(
      "access/change/team/*",
      (request) => changeAccess(target, "team", request),
    ),
  ];
}

/** Lists the endpoints for accounts and logins of users. Only the admin server, which has a token, shows and ends them. */
function accounts({ target, server }: UiOptions): readonly Endpoint[] {
  if (server !== "admin") return [];
  return [
    get("connections", (request) => listConnections(target, request)),
    post(
      "connections/revoke",
      (request) => revokeConnection(target, request),
    ),
    get("grants", (request) => listGrants(target, request)),
    post("grants/revoke", (request) => revokeGrants(target, request)),
  ];
}

/** Lists the endpoints of the playground. Only the admin server sends requests in the name of its user. */
function playground({ target, server }: UiOptions): readonly Endpoint[] {
  if (server !== "admin") return [];
  const { send, evaluate } = playgroundHandlers(target.dataPlane);
  return [
    post("playground/send", send),
    post("playground/evaluate", evaluate),
  ];
}

function describeStatus(
  { target, server, readOnly, profiles }: UiOptions,
  request: Request,
): UiStatus {
  const caller = callerOf(request);
  const role = caller === undefined ? "admin" : caller.role ?? "viewer";
  const may = (needed: AdminRole) => includesRole(role, needed);
  const { lastRejected, ...status } = target.status();
  return {
    ...status,
    version: target.version,
    readiness: target.readiness(),
    lastRejected: lastRejected ?? null,
    server,
    readOnly: readOnly || !may("operator"),
    role,
    user: caller?.user ?? null,
    profiles: profileNames.filter((name) =>
      profiles?.[name] !== undefined && may(profileRoles[name])
    ),
    hasStore: target.settings.kv !== undefined,
    hasConnections: target.settings.connections !== undefined,
    hasSource: target.editor !== undefined &&
      (server === "gateway" || may("admin")),
  };
}

function logging(target: AdminTarget, readOnly: boolean): Endpoint {
  const endpoint = get("logging", (request) => showLogFilter(target, request));
  if (readOnly) return endpoint;
  const { methods } = post(
    "logging",
    (request) => changeLogFilter(target, request),
  );
  return { ...endpoint, methods: { ...endpoint.methods, ...methods } };
}

/** Reports whether the page itself sends the request: browsers add credentials to cross-origin requests, too, but declare their origin. */
function isFromPage({ headers, url }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = headers.get("origin");
  // Behind a TLS-terminating proxy the schemes differ.
  return origin !== null && URL.parse(origin)?.host === new URL(url).host;
}
