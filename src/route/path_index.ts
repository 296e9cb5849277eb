import {
  compareMatches,
  type CompiledMatch,
  type RoutableRequest,
} from "./route_match.ts";

/** A route that matches a request, and the prefix it matched by. */
export interface RouteMatch<T> {
  readonly value: T;
  /** Matched path prefix without trailing slash, such as `/v1`; empty for `/`, `undefined` for other match types. */
  readonly matchedPrefix: string | undefined;
}

/** A match and its result. */
export interface Candidate<T> {
  readonly match: CompiledMatch;
  readonly result: RouteMatch<T>;
}

/** Index of the candidates of one hostname by path. */
export class PathIndex<T> {
  readonly #exact = new Map<string, Candidate<T>[]>();
  readonly #prefixes = new Map<string, Candidate<T>[]>();
  /** Lengths of the keys of `#prefixes`, longest first. */
  readonly #prefixLengths: readonly number[];
  readonly #patterns: Candidate<T>[] = [];
  readonly #candidates: readonly Candidate<T>[];

  /** @param candidates Earlier ones win ties. */
  constructor(candidates: readonly Candidate<T>[]) {
    this.#candidates = candidates;
    const ordered = candidates.toSorted((a, b) =>
      compareMatches(a.match, b.match)
    );
    for (const candidate of ordered) this.#add(candidate);
    const lengths = new Set(
      this.#prefixes.keys().map((prefix) => prefix.length),
    );
    this.#prefixLengths = [...lengths].sort((a, b) => b - a);
  }

  /** Reports whether this is the index of these candidates. */
  isOf(candidates: readonly Candidate<T>[]): boolean {
    const own = this.#candidates;
    return own.length === candidates.length &&
      own.every((each, index) => each === candidates[index]);
  }

  /** Returns the matching candidate with the highest precedence. */
  find(path: string, request: RoutableRequest): RouteMatch<T> | undefined {
    return firstMatch(this.#exact.get(path), request) ??
      this.#findPrefix(path, request) ??
      this.#findPattern(path, request);
  }

  /** Yields the values of all candidates. */
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
      const found = firstMatch(bucket, request);
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
      if (
        match.path.pattern.test(path, request.patternBudget) &&
        satisfies(request, match)
      ) {
        return result;
      }
    }
    return undefined;
  }
}

function* valuesOf<T>(candidates: readonly Candidate<T>[]): Generator<T> {
  for (const { result } of candidates) yield result.value;
}

/** Reports whether a path segment ends before `index`; the empty prefix, which stands for `/`, matches every path. */
function isSegmentEnd(path: string, index: number): boolean {
  return index === 0 || index === path.length ||
    (index < path.length && path.charCodeAt(index) === 0x2f);
}

function firstMatch<T>(
  bucket: readonly Candidate<T>[] | undefined,
  request: RoutableRequest,
): RouteMatch<T> | undefined {
  if (bucket === undefined) return undefined;
  for (const { match, result } of bucket) {
    if (satisfies(request, match)) return result;
  }
  return undefined;
}

function satisfies(request: RoutableRequest, match: CompiledMatch): boolean {
  for (const condition of match.conditions) {
    if (!condition(request)) return false;
  }
  return true;
}
