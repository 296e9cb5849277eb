import type { HttpMatch } from "../../api/resources/http_match.ts";
import type { WellKnown } from "../../policy/policy_kind.ts";
import { isWildcard } from "../../route/hostname.ts";
import type { RouteEntry } from "../../route/route_table.ts";
import type { Route } from "../../snapshot/snapshot.ts";
import type { ServedRule } from "../compiled_model.ts";

/**
 * Creates the routes to documents about protected paths, such as the metadata of an MCP server, so that configuration need not have
 * them; the root form too, for the only such rule of its hosts. The routes of the configuration take precedence.
 */
export function wellKnownEntries(
  served: readonly ServedRule[],
): RouteEntry<Route>[] {
  const protectedRules = served.flatMap((rule) => {
    const wellKnown = wellKnownOf(rule);
    const paths = wellKnown === undefined ? [] : resourcePathsOf(rule);
    const [first] = paths;
    return wellKnown === undefined || first === undefined
      ? []
      : [{ ...rule, first, paths, wellKnown }];
  });
  const isOnly = whetherOnly(protectedRules);
  return protectedRules.map((
    { route, hostnames, first, paths, wellKnown: { prefixes, root } },
  ) => ({
    hostnames,
    matches: [
      ...paths.flatMap((path) =>
        prefixes.map((prefix) => match("PathPrefix", prefix + path))
      ),
      ...(isOnly({ hostnames }) ? [match("Exact", root)] : []),
    ],
    value: { ...route, resourcePath: first },
  }));
}

/** Returns what the first policy that has such documents says of them. */
function wellKnownOf({ effective }: ServedRule): WellKnown | undefined {
  for (const { kind, layers } of effective) {
    for (const { traffic } of layers) {
      const wellKnown = kind.wellKnown(traffic);
      if (wellKnown !== undefined) return wellKnown;
    }
  }
  return undefined;
}

type Hosts = Pick<ServedRule, "hostnames">;

/** Tests whether a rule has its hosts to itself; one that names no host, or a wildcard, has them when it is the only rule. */
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

function resourcePathsOf({ rule }: ServedRule): readonly string[] {
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
