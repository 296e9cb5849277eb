import type { HttpMatch } from "../api/rules/http_match.ts";
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

/** Does the same as `createRouteTable`, in steps; see `runInSlices`. @param memory Parts of earlier tables. */
export function* createRouteTableInSteps<T>(
  entries: readonly RouteEntry<T>[],
  memory: RouteTableMemory<T> = new RouteTableMemory<T>(),
): Generator<void, RouteTable<T>> {
  const byHostname = yield* indexByHostname(entries, memory);
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

/** Remembers the parts of route tables whose entries are the same objects. */
export class RouteTableMemory<T> {
  readonly #candidates = new WeakMap<RouteEntry<T>, readonly Candidate<T>[]>();
  /** By hostname and the first candidate. */
  readonly #indexes = new WeakMap<Candidate<T>, Map<string, PathIndex<T>>>();

  /** Returns the matches of an entry. */
  candidatesOf(entry: RouteEntry<T>): readonly Candidate<T>[] {
    return this.#candidates.getOrInsertComputed(
      entry,
      ({ matches, value }) =>
        matches.map((match) => createCandidate(match, value)),
    );
  }

  /** Returns the index of the candidates of a hostname. */
  indexOf(hostname: string, list: readonly Candidate<T>[]): PathIndex<T> {
    const [first] = list;
    if (first === undefined) return new PathIndex(list);
    const indexes = this.#indexes.getOrInsertComputed(first, () => new Map());
    const known = indexes.get(hostname);
    if (known?.isOf(list)) return known;
    const index = new PathIndex(list);
    indexes.set(hostname, index);
    return index;
  }
}

function* indexByHostname<T>(
  entries: readonly RouteEntry<T>[],
  memory: RouteTableMemory<T>,
): Generator<void, ReadonlyMap<string, PathIndex<T>>> {
  const candidates = new Map<string, Candidate<T>[]>();
  for (const entry of entries) {
    const { hostnames } = entry;
    const own = memory.candidatesOf(entry);
    for (const hostname of new Set(hostnames.length > 0 ? hostnames : ["*"])) {
      const known = candidates.get(hostname);
      if (known === undefined) candidates.set(hostname, [...own]);
      else known.push(...own);
    }
    yield;
  }
  const byHostname = new Map<string, PathIndex<T>>();
  for (const [hostname, list] of candidates) {
    byHostname.set(hostname, memory.indexOf(hostname, list));
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
