import {
  compareMatches,
  type CompiledMatch,
  type RoutableRequest,
} from "./route_match.ts";

/** A route that matches a request, and the prefix it matched by. */
export interface RouteMatch<T> {
  readonly value: T;
  /** Path that matched by prefix, without trailing slash, such as `/v1`; empty for `/`, `undefined` for other matches. */
  readonly matchedPrefix: string | undefined;
}

/** A match and what it leads to. */
export interface Candidate<T> {
  readonly match: CompiledMatch;
  readonly result: RouteMatch<T>;
}

/** The candidates of one host name, found by path without looking at each. */
export class PathIndex<T> {
  readonly #exact = new Map<string, Candidate<T>[]>();
  readonly #prefixes = new Map<string, Candidate<T>[]>();
  /** Lengths that occur in `#prefixes`, longest first: only there a path is cut. */
  readonly #prefixLengths: readonly number[];
  readonly #patterns: Candidate<T>[] = [];

  /** @param candidates Those that come earlier win ties. */
  constructor(candidates: readonly Candidate<T>[]) {
    const ordered = candidates.toSorted((a, b) =>
      compareMatches(a.match, b.match)
    );
    for (const candidate of ordered) this.#add(candidate);
    const lengths = new Set(
      this.#prefixes.keys().map((prefix) => prefix.length),
    );
    this.#prefixLengths = [...lengths].sort((a, b) => b - a);
  }

  /** The candidate of highest precedence that fits. */
  find(path: string, request: RoutableRequest): RouteMatch<T> | undefined {
    return firstFit(this.#exact.get(path), request) ??
      this.#findPrefix(path, request) ??
      this.#findPattern(path, request);
  }

  /** Everything that may be found. */
  *values(): Generator<T> {
    for (const bucket of this.#exact.values()) yield* valuesOf(bucket);
    for (const bucket of this.#prefixes.values()) yield* valuesOf(bucket);
    yield* valuesOf(this.#patterns);
  }

  #add(candidate: Candidate<T>): void {
    const { type, value } = candidate.match.path;
    if (type === "RegularExpression") {
      this.#patterns.push(candidate);
      return;
    }
    const index = type === "Exact" ? this.#exact : this.#prefixes;
    const bucket = index.get(value);
    if (bucket === undefined) index.set(value, [candidate]);
    else bucket.push(candidate);
  }

  #findPrefix(
    path: string,
    request: RoutableRequest,
  ): RouteMatch<T> | undefined {
    for (const length of this.#prefixLengths) {
      if (!isSegmentEnd(path, length)) continue;
      const bucket = this.#prefixes.get(path.slice(0, length));
      const found = firstFit(bucket, request);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #findPattern(
    path: string,
    request: RoutableRequest,
  ): RouteMatch<T> | undefined {
    for (const { match, result } of this.#patterns) {
      if (match.path.type !== "RegularExpression") continue;
      if (match.path.pattern.test(path) && fits(match, request)) return result;
    }
    return undefined;
  }
}

function* valuesOf<T>(candidates: readonly Candidate<T>[]): Generator<T> {
  for (const { result } of candidates) yield result.value;
}

/** Whether a path element ends before `index`; the empty prefix, which stands for `/`, fits every path. */
function isSegmentEnd(path: string, index: number): boolean {
  return index === 0 || index === path.length ||
    (index < path.length && path.charCodeAt(index) === 0x2f);
}

function firstFit<T>(
  bucket: readonly Candidate<T>[] | undefined,
  request: RoutableRequest,
): RouteMatch<T> | undefined {
  if (bucket === undefined) return undefined;
  for (const { match, result } of bucket) {
    if (fits(match, request)) return result;
  }
  return undefined;
}

function fits(match: CompiledMatch, request: RoutableRequest): boolean {
  for (const condition of match.conditions) {
    if (!condition(request)) return false;
  }
  return true;
}
