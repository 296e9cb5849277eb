import type { HttpMatch } from "../api/http_match.ts";
import type { RouteEntry } from "../route/route_table.ts";
import type { Route } from "../snapshot/snapshot.ts";
import type { ServedRule } from "./describe.ts";

/** Below these clients look for the metadata of an MCP server, followed by its path. */
const wellKnown = [
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
];

/**
 * Where clients look for the metadata of a protected MCP server, so that the route itself need not say so; when a listener has one
 * such server, the root form of the resource's metadata too. What a route says itself comes first.
 */
export function mcpEntries(
  served: readonly ServedRule[],
): RouteEntry<Route>[] {
  const protectedRules = served.flatMap((rule) => {
    const paths = mcpPathsOf(rule);
    const [first] = paths;
    return first === undefined ? [] : [{ ...rule, first, paths }];
  });
  return protectedRules.map(({ route, hostnames, first, paths }) => ({
    hostnames,
    matches: [
      ...paths.flatMap((path) =>
        wellKnown.map((prefix) => match("PathPrefix", prefix + path))
      ),
      ...(protectedRules.length === 1
        ? [match("Exact", "/.well-known/oauth-protected-resource")]
        : []),
    ],
    value: { ...route, mcpPath: first },
  }));
}

/** The paths of a rule that is protected with OAuth. */
function mcpPathsOf({ rule, effective }: ServedRule): readonly string[] {
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
