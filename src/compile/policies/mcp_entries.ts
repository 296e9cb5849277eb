import type { HttpMatch } from "../../api/resources/http_match.ts";
import { isWildcard } from "../../route/hostname.ts";
import type { RouteEntry } from "../../route/route_table.ts";
import type { Route } from "../../snapshot/snapshot.ts";
import type { ServedRule } from "../compiled_model.ts";

/** Below these clients look for the metadata of an MCP server, followed by its path. */
const wellKnown = [
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
];

/**
 * Where clients look for the metadata of a protected MCP server, so that the route itself need not say so; the root form of the
 * resource's metadata too, for the only such server of its hosts. What a route says itself comes first.
 */
export function mcpEntries(
  served: readonly ServedRule[],
): RouteEntry<Route>[] {
  const protectedRules = served.flatMap((rule) => {
    const paths = resourcePathsOf(rule);
    const [first] = paths;
    return first === undefined ? [] : [{ ...rule, first, paths }];
  });
  const isOnly = whetherOnly(protectedRules);
  return protectedRules.map(({ route, hostnames, first, paths }) => ({
    hostnames,
    matches: [
      ...paths.flatMap((path) =>
        wellKnown.map((prefix) => match("PathPrefix", prefix + path))
      ),
      ...(isOnly({ hostnames })
        ? [match("Exact", "/.well-known/oauth-protected-resource")]
        : []),
    ],
    value: { ...route, resourcePath: first },
  }));
}

type Hosts = Pick<ServedRule, "hostnames">;

/** Whether a rule has its hosts to itself; one that names no host, or a wildcard, has them when it is the only rule. */
function whetherOnly(rules: readonly Hosts[]): (rule: Hosts) => boolean {
  if (rules.length === 1) return () => true;
  if (rules.some(isForManyHosts)) return () => false;
  const counts = Map.groupBy(
    rules.flatMap(({ hostnames }) => hostnames),
    String,
  );
  return ({ hostnames }) =>
    hostnames.every((host) => counts.get(host)?.length === 1);
}

function isForManyHosts({ hostnames }: Hosts): boolean {
  return hostnames.length === 0 || hostnames.some(isWildcard);
}

/** The paths of a rule that is protected with OAuth. */
function resourcePathsOf({ rule, effective }: ServedRule): readonly string[] {
  const isProtected = effective.some(({ kind, layers }) =>
    kind.kind === "jwtAuthentication" &&
    layers.some(({ traffic }) => traffic.jwtAuthentication?.mcp !== undefined)
  );
  if (!isProtected) return [];
  return rule.spec.matches.map(({ path }) => path)
    .filter(({ type, value }) =>
      type !== "RegularExpression" && value !== "/" &&
      !value.startsWith("/.well-known/")
    )
    .map(({ value }) => value.replace(/\/$/, ""));
}

function match(
  type: "PathPrefix" | "Exact",
  value: string,
): HttpMatch {
  return { path: { type, value } };
}
