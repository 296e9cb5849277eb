import type { HttpMatch } from "../../api/rules/http_match.ts";
import type { RunningPolicy } from "../../policy/contract/policy.ts";
import type {
  PolicyKind,
  WellKnown,
} from "../../policy/contract/policy_kind.ts";
import { isWildcard } from "../../route/hostname.ts";
import type { RouteEntry } from "../../route/route_table.ts";
import type { Route } from "../../snapshot/snapshot.ts";
import type { ServedRule } from "../policies/compiled_rules.ts";

/** Routes to documents about protected paths, such as the metadata of an MCP server, so that configuration need not have them. */
interface WellKnownEntries {
  /** Routes to the documents; the root form too, for the only such rule of its hosts. */
  readonly documents: readonly RouteEntry<Route>[];
  /** Routes to a 404 where clients look for documents that do not exist; the configuration's routes take precedence. */
  readonly fallbacks: readonly RouteEntry<Route>[];
}

/** Creates the routes for the rules of a listener. */
export function wellKnownEntries(
  served: readonly ServedRule[],
): WellKnownEntries {
  const protectedRules = served.flatMap(describeProtection);
  const isOnly = whetherOnly(protectedRules);
  return {
    documents: protectedRules.map((rule) => documentsOf(rule, isOnly(rule))),
    fallbacks: protectedRules.map(fallbackOf),
  };
}

interface ProtectedRule extends ServedRule {
  readonly paths: readonly [string, ...string[]];
  readonly kind: PolicyKind;
  readonly wellKnown: WellKnown;
}

function describeProtection(rule: ServedRule): readonly ProtectedRule[] {
  return firstWellKnown(rule).flatMap((found) => {
    const [first, ...others] = resourcePathsOf(rule);
    return first === undefined
      ? []
      : [{ ...rule, ...found, paths: [first, ...others] }];
  });
}

function documentsOf(
  { route, hostnames, paths, wellKnown: { prefixes, root } }: ProtectedRule,
  hasRoot: boolean,
): RouteEntry<Route> {
  return {
    hostnames,
    matches: [
      ...paths.flatMap((path) =>
        prefixes.map((prefix) => match("PathPrefix", prefix + path))
      ),
      ...(hasRoot ? [match("Exact", root)] : []),
    ],
    value: { ...route, resourcePath: paths[0] },
  };
}

function fallbackOf(
  { route, hostnames, kind, wellKnown: { prefixes, notFound } }: ProtectedRule,
): RouteEntry<Route> {
  const policy: RunningPolicy = {
    kind,
    onRequest: notFound,
    readableBy: () => "every page",
  };
  return {
    hostnames,
    matches: prefixes.map((prefix) => match("PathPrefix", prefix)),
    value: { ...route, policies: [policy] },
  };
}

/** Returns the first kind that has such documents, as a list of one. */
function firstWellKnown(
  { effective }: ServedRule,
): readonly Pick<ProtectedRule, "kind" | "wellKnown">[] {
  for (const { kind, layers } of effective) {
    for (const { traffic } of layers) {
      const wellKnown = kind.wellKnown(traffic);
      if (wellKnown !== undefined) return [{ kind, wellKnown }];
    }
  }
  return [];
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

/** Creates a match of paths alone. */
export function match(
  type: "PathPrefix" | "Exact",
  value: string,
): HttpMatch {
  return { path: { type, value } };
}
