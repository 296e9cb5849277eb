import {
  type AdminRole,
  adminRoles,
} from "../../src/api/admin_login_schema.ts";

/** A role that a request needs; `anyone` needs no login, and `team` no role, but the login of a user who has a team. */
export type NeededRole = AdminRole | "anyone" | "team";

/**
 * The role that each endpoint needs. Endpoints are declared with paths of this table only, so that a new one without a role does not
 * compile; paths that it does not have need `admin`. `*` is one segment at the end.
 */
const neededRoles = {
  // For monitoring, on a server of their own.
  "GET /metrics": "anyone",
  "GET /stats/prometheus": "anyone",
  "GET /healthz/ready": "anyone",
  "GET /healthz/live": "anyone",

  // Users see and change what is their own.
  "GET /self": "team",
  "POST /self": "team",
  "GET /self/keys": "team",
  "POST /self/keys": "team",
  "POST /self/keys/*": "team",
  "GET /self/grants": "team",
  "POST /self/grants/*": "team",

  "GET /": "viewer",
  "GET /ui": "anyone",
  "GET /config_dump": "viewer",
  "GET /logging": "viewer",
  "POST /logging": "operator",
  "GET /audit": "viewer",
  "POST /keys/refresh": "operator",
  "GET /mcp/servers": "viewer",
  "GET /mcp/tools": "viewer",
  "POST /mcp/tools": "operator",
  "POST /mcp/tools/revoke": "operator",
  "GET /access/keys": "viewer",
  "POST /access/keys": "operator",
  "GET /access/keys/*": "viewer",
  "POST /access/keys/*": "operator",
  "GET /access/users": "viewer",
  "POST /access/users": "operator",
  "GET /access/users/*": "viewer",
  "POST /access/users/*": "operator",
  "GET /access/teams": "viewer",
  "POST /access/teams": "operator",
  "GET /access/teams/*": "viewer",
  "POST /access/teams/*": "operator",
  "GET /connections": "viewer",
  "POST /connections/revoke": "operator",
  "GET /grants": "viewer",
  "POST /grants/revoke": "operator",
  "GET /usage": "viewer",
  "GET /traffic": "viewer",
  "GET /requests": "viewer",
  "GET /requests/*": "viewer",
  // Trials of configurations read files, whose rules may tell about the environment.
  "POST /try": "admin",
  "POST /limits/reset": "operator",
  "GET /debug/trace": "operator",
  "POST /debug/trace": "operator",
  "GET /debug/requests": "viewer",
  "GET /debug/requests/*": "viewer",
  "GET /debug/tasks": "viewer",
  "GET /debug/pprof/profile": "operator",
  // Strings in memory may be secrets.
  "GET /debug/pprof/heap": "admin",
  "GET /memory": "viewer",
  "GET /openapi.json": "viewer",
  "POST /quitquitquit": "admin",

  "GET /ui/api/status": "viewer",
  "GET /ui/api/config": "viewer",
  "GET /ui/api/config/part": "viewer",
  "GET /ui/api/metrics": "viewer",
  "GET /ui/api/budgets": "viewer",
  "GET /ui/api/keys": "viewer",
  "GET /ui/api/memory": "viewer",
  "GET /ui/api/tasks": "viewer",
  "GET /ui/api/usage": "viewer",
  "GET /ui/api/traffic": "viewer",
  "GET /ui/api/requests": "viewer",
  "GET /ui/api/requests/*": "viewer",
  "GET /ui/api/trace": "operator",
  "GET /ui/api/logging": "viewer",
  "POST /ui/api/logging": "operator",
  "GET /ui/api/mcp/servers": "viewer",
  "GET /ui/api/mcp/tools": "viewer",
  "POST /ui/api/mcp/approve": "operator",
  "POST /ui/api/mcp/revoke": "operator",
  "GET /ui/api/access/keys": "viewer",
  "GET /ui/api/access/teams": "viewer",
  "POST /ui/api/access/create/key": "operator",
  "POST /ui/api/access/create/team": "operator",
  "POST /ui/api/access/change/*": "operator",
  "POST /ui/api/access/change/team/*": "operator",
  "GET /ui/api/connections": "viewer",
  "POST /ui/api/connections/revoke": "operator",
  "GET /ui/api/grants": "viewer",
  "POST /ui/api/grants/revoke": "operator",
  // Files of configurations may have secrets.
  "GET /ui/api/source": "admin",
  "POST /ui/api/source/check": "admin",
  "POST /ui/api/source/compare": "admin",
  "POST /ui/api/source/apply": "admin",
  "GET /ui/api/source/history": "admin",
  "POST /ui/api/source/history/compare": "admin",
  "GET /ui/api/source/files/compare": "admin",
  "POST /ui/api/source/history/apply": "admin",
  "POST /ui/api/try": "admin",
  // Sends requests from where the gateway is.
  "POST /ui/api/playground/send": "operator",
  "POST /ui/api/playground/evaluate": "viewer",
  "GET /ui/api/profiles/cpu": "operator",
  "GET /ui/api/profiles/heap": "admin",
} as const satisfies Readonly<Record<string, NeededRole>>;

type Operation = keyof typeof neededRoles;

/** Methods of endpoints. */
type Method = "GET" | "POST";

/** A path of the table, which has the method. @typeParam Prefix Left out of the path. */
export type PathOf<M extends Method, Prefix extends string = ""> =
  Operation extends infer Each
    ? Each extends `${M} ${Prefix}${infer Path}` ? Path : never
    : never;

const roles: ReadonlyMap<string, NeededRole> = new Map(
  Object.entries(neededRoles),
);

/** Returns the role that a request needs. */
export function roleFor(
  { method, url }: Pick<Request, "method" | "url">,
): NeededRole {
  const { pathname } = new URL(url);
  const name = method === "HEAD" ? "GET" : method;
  return roles.get(`${name} ${pathname}`) ??
    roles.get(`${name} ${pathname.replace(/[^/]+$/, "*")}`) ?? "admin";
}

/** Reports whether a role has the rights of another. */
export function includesRole(
  own: AdminRole | undefined,
  needed: AdminRole | "anyone",
): boolean {
  return needed === "anyone" || own !== undefined &&
      adminRoles.indexOf(own) >= adminRoles.indexOf(needed);
}
