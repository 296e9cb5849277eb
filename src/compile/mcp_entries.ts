import type { HttpMatch } from "../api/http_match.ts";
import type { RouteEntry } from "../route/route_table.ts";
import type { Route } from "../snapshot/snapshot.ts";
import type { ServedRule } from "./describe.ts";

/**
 * Where clients look for the metadata of a protected MCP server and the route itself need not say so: OpenID Connect
 * discovery and, when a listener has one such server, the root form of the resource's metadata.
 */
export function mcpEntries(
  served: readonly ServedRule[],
): RouteEntry<Route>[] {
  const protectedRules = served.flatMap((rule) => {
    const path = mcpPathOf(rule);
    return path === undefined ? [] : [{ ...rule, path }];
  });
  return protectedRules.map(({ route, hostnames, path }) => ({
    hostnames,
    matches: [
      match("PathPrefix", `/.well-known/openid-configuration${path}`),
      ...(protectedRules.length === 1
        ? [match("Exact", "/.well-known/oauth-protected-resource")]
        : []),
    ],
    value: { ...route, mcpPath: path },
  }));
}

/** The first path of a rule that is protected with OAuth. */
function mcpPathOf({ rule, effective }: ServedRule): string | undefined {
  const isProtected = effective.some(({ kind, layers }) =>
    kind.kind === "jwtAuthentication" &&
    layers.some(({ traffic }) => traffic.jwtAuthentication?.mcp !== undefined)
  );
  if (!isProtected) return undefined;
  return rule.spec.matches.map(({ path }) => path)
    .find((path) =>
      path.type !== "RegularExpression" && path.value !== "/" &&
      !path.value.startsWith("/.well-known/")
    )?.value;
}

function match(
  type: "PathPrefix" | "Exact",
  value: string,
): HttpMatch {
  return { path: { type, value } };
}
