import type {
  HeaderMatch,
  HttpMatch,
  QueryParamMatch,
} from "../api/resources/http_match.ts";
import { Pattern } from "../base/pattern.ts";
import { queryParam } from "./query_parameter.ts";
import { normalizePath, pathEnd } from "./normalize_target.ts";

/** The parts of a request that routing reads. */
export interface RoutableRequest {
  readonly method: string;
  /** Path and query in the form of `normalizeTarget`. */
  readonly target: string;
  /** In the form of `hostnameOf`. */
  readonly hostname: string;
  /** Value of a header by its lower-case name; the values of a repeated one joined by `, `. */
  header(name: string): string | undefined;
}

/** Condition of a match beyond host and path. */
type Condition = (request: RoutableRequest) => boolean;

/** How the path of a match compares; the value is in normal form, a prefix without its trailing slash. */
export type PathCondition =
  | { readonly type: "Exact" | "PathPrefix"; readonly value: string }
  | {
    readonly type: "RegularExpression";
    readonly value: string;
    readonly pattern: Pattern;
  };

/** An `HTTPRouteMatch` made ready for requests. */
export interface CompiledMatch {
  readonly path: PathCondition;
  readonly hasMethod: boolean;
  readonly headerCount: number;
  readonly queryParamCount: number;
  /** Method, headers and query parameters: everything but the path. */
  readonly conditions: readonly Condition[];
}

/** Prepares a match; of several headers or query parameters of one name only the first counts, as the Gateway API says. */
export function compileMatch(match: HttpMatch): CompiledMatch {
  const { method } = match;
  const headers = firstOfEach(
    match.headers ?? [],
    ({ name }) => name.toLowerCase(),
  );
  const queryParams = firstOfEach(match.queryParams ?? [], ({ name }) => name);
  return {
    path: compilePath(match.path),
    hasMethod: method !== undefined,
    headerCount: headers.length,
    queryParamCount: queryParams.length,
    conditions: [
      ...(method === undefined
        ? []
        : [(request: RoutableRequest) => request.method === method]),
      ...headers.map(compileHeader),
      ...queryParams.map(compileQueryParam),
    ],
  };
}

/**
 * Orders matches that fit a request: which of two goes first. Gateway API, `HTTPRouteRule.matches`:
 * "Exact" path, longest prefix, method, most headers, most query parameters.
 *
 * The text leaves the place of regular expressions open; here they come after every prefix, longer patterns first.
 */
export function compareMatches(a: CompiledMatch, b: CompiledMatch): number {
  return rankOfPath[a.path.type] - rankOfPath[b.path.type] ||
    b.path.value.length - a.path.value.length ||
    Number(b.hasMethod) - Number(a.hasMethod) ||
    b.headerCount - a.headerCount ||
    b.queryParamCount - a.queryParamCount;
}

const rankOfPath = {
  Exact: 0,
  PathPrefix: 1,
  RegularExpression: 2,
} satisfies Record<PathCondition["type"], number>;

function compilePath({ type, value }: HttpMatch["path"]): PathCondition {
  if (type === "RegularExpression") {
    return { type, value, pattern: new Pattern(value) };
  }
  const normal = normalizePath(value).path ?? value;
  const isPrefixWithSlash = type === "PathPrefix" && normal.endsWith("/");
  return { type, value: isPrefixWithSlash ? normal.slice(0, -1) : normal };
}

function compileHeader({ name, type, value }: HeaderMatch): Condition {
  const key = name.toLowerCase();
  if (type === "Exact") return (request) => request.header(key) === value;
  const pattern = new Pattern(value);
  return (request) => {
    const actual = request.header(key);
    return actual !== undefined && pattern.test(actual);
  };
}

function compileQueryParam({ name, type, value }: QueryParamMatch): Condition {
  if (type === "Exact") {
    return ({ target }) => queryParam(queryOf(target), name) === value;
  }
  const pattern = new Pattern(value);
  return ({ target }) => {
    const actual = queryParam(queryOf(target), name);
    return actual !== undefined && pattern.test(actual);
  };
}

function queryOf(target: string): string {
  return target.slice(pathEnd(target) + 1);
}

function firstOfEach<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const seen = new Map<string, T>();
  for (const item of items) {
    if (!seen.has(keyOf(item))) seen.set(keyOf(item), item);
  }
  return [...seen.values()];
}
