import type { HttpMatch } from "../api/resources/http_match.ts";
import { runToEnd } from "../base/slices.ts";
import { isWildcard } from "./hostname.ts";
import { type Candidate, PathIndex, type RouteMatch } from "./path_index.ts";
import { pathOf } from "./normalize_target.ts";
import { compiledMatch, type RoutableRequest } from "./route_match.ts";

/** Finds the route of highest precedence for a request. */
export interface RouteTable<T> {
  find(request: RoutableRequest): RouteMatch<T> | undefined;
  /** Yields all values for a host, once per match, most specific hostnames first; explains why a request did not match. */
  candidates(hostname: string): Generator<T>;
}

/** A rule of a route with its hostnames and matches. */
export interface RouteEntry<T> {
  /** Hostnames of the route, including wildcards; empty for every host. */
  readonly hostnames: readonly string[];
  /** One match is sufficient. */
  readonly matches: readonly HttpMatch[];
  readonly value: T;
}

/**
 * Indexes rules by hostname and path, so that the cost of a look-up does not depend on their number.
 *
 * The most specific hostname with a match for the request wins; within a hostname, `compareMatches` decides, then the order of
 * entries, then the order of matches.
 *
 * @param entries Ordered by age of the route, oldest first, then namespace and name, then position in the route.
 */
export function createRouteTable<T>(
  entries: readonly RouteEntry<T>[],
): RouteTable<T> {
  return runToEnd(createRouteTableInSteps(entries));
}

/** Does the same as `createRouteTable`, in steps; see `runInSlices`. */
export function* createRouteTableInSteps<T>(
  entries: readonly RouteEntry<T>[],
): Generator<void, RouteTable<T>> {
  const byHostname = yield* indexByHostname(entries);
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

function* indexByHostname<T>(
  entries: readonly RouteEntry<T>[],
): Generator<void, ReadonlyMap<string, PathIndex<T>>> {
  const candidates = new Map<string, Candidate<T>[]>();
  for (const { hostnames, matches, value } of entries) {
    const own = matches.map((match) => createCandidate(match, value));
    for (const hostname of new Set(hostnames.length > 0 ? hostnames : ["*"])) {
      const known = candidates.get(hostname);
      if (known === undefined) candidates.set(hostname, [...own]);
      else known.push(...own);
    }
    yield;
  }
  const byHostname = new Map<string, PathIndex<T>>();
  for (const [hostname, list] of candidates) {
    byHostname.set(hostname, new PathIndex(list));
    yield;
  }
  return byHostname;
}

function createCandidate<T>(source: HttpMatch, value: T): Candidate<T> {
  const match = compiledMatch(source);
  const { path } = match;
  const matchedPrefix = path.type === "PathPrefix" ? path.value : undefined;
  return { match, result: { value, matchedPrefix } };
}
