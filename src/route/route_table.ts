import type { HttpMatch } from "../api/resources/http_match.ts";
import { isWildcard } from "./hostname.ts";
import { type Candidate, PathIndex, type RouteMatch } from "./path_index.ts";
import { pathOf } from "./normalize_target.ts";
import { compileMatch, type RoutableRequest } from "./route_match.ts";

/** Finds the route of highest precedence for a request. */
export interface RouteTable<T> {
  find(request: RoutableRequest): RouteMatch<T> | undefined;
  /** What could be found for a host, once for each match, the most specific hosts first: for whoever wants to know what did not. */
  candidates(hostname: string): Generator<T>;
}

/** A rule of a route: the requests it is for. */
export interface RouteEntry<T> {
  /** Host names of the route, wildcards included; empty for every host. */
  readonly hostnames: readonly string[];
  /** Any one of them is enough. */
  readonly matches: readonly HttpMatch[];
  readonly value: T;
}

/**
 * Indexes rules by host name and path, so that a look-up does not depend on how many there are.
 *
 * A request belongs to the most specific host name that has a match for it; within a host name the order of
 * `compareMatches` decides, and among equals the entry that comes first, then the match that comes first.
 *
 * @param entries Rules of the oldest route first, then by namespace and name, then in the order of the route.
 */
export function createRouteTable<T>(
  entries: readonly RouteEntry<T>[],
): RouteTable<T> {
  const byHostname = indexByHostname(entries);
  const everyHost = byHostname.get("*");
  const hasWildcards = byHostname.keys().some((name) =>
    name !== "*" && isWildcard(name)
  );

  function find(request: RoutableRequest): RouteMatch<T> | undefined {
    const { hostname, target } = request;
    const path = pathOf(target);
    return byHostname.get(hostname)?.find(path, request) ??
      (hasWildcards ? findWildcard(hostname, path, request) : undefined) ??
      everyHost?.find(path, request);
  }

  /** Tries `*.b.c`, then `*.c` for `a.b.c`. */
  function findWildcard(
    hostname: string,
    path: string,
    request: RoutableRequest,
  ): RouteMatch<T> | undefined {
    for (
      let dot = hostname.indexOf(".");
      dot > 0;
      dot = hostname.indexOf(".", dot + 1)
    ) {
      const index = byHostname.get("*" + hostname.slice(dot));
      const found = index?.find(path, request);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  function* candidates(hostname: string): Generator<T> {
    for (const pattern of patternsOf(hostname)) {
      const index = byHostname.get(pattern);
      if (index !== undefined) yield* index.values();
    }
  }

  return { find, candidates };
}

/** `a.b.c`, `*.b.c`, `*.c`, `*`. */
function* patternsOf(hostname: string): Generator<string> {
  yield hostname;
  for (
    let dot = hostname.indexOf(".");
    dot > 0;
    dot = hostname.indexOf(".", dot + 1)
  ) yield "*" + hostname.slice(dot);
  yield "*";
}

function indexByHostname<T>(
  entries: readonly RouteEntry<T>[],
): Map<string, PathIndex<T>> {
  const candidates = new Map<string, Candidate<T>[]>();
  for (const { hostnames, matches, value } of entries) {
    const own = matches.map((match) => createCandidate(match, value));
    for (const hostname of new Set(hostnames.length > 0 ? hostnames : ["*"])) {
      const known = candidates.get(hostname);
      if (known === undefined) candidates.set(hostname, [...own]);
      else known.push(...own);
    }
  }
  return new Map(
    candidates.entries().map(([hostname, list]) =>
      [hostname, new PathIndex(list)] as const
    ),
  );
}

function createCandidate<T>(source: HttpMatch, value: T): Candidate<T> {
  const match = compileMatch(source);
  const { path } = match;
  const matchedPrefix = path.type === "PathPrefix" ? path.value : undefined;
  return { match, result: { value, matchedPrefix } };
}
