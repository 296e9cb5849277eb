import {
  type HeaderMatch,
  type HttpMatch,
  MODEL_HEADER,
  type QueryParamMatch,
} from "../api/rules/http_match.ts";
import {
  type Pattern,
  type PatternBudget,
  patternOf,
} from "../base/pattern.ts";
import { readQuery } from "./query_parameter.ts";
import { normalizePath, pathEnd } from "./normalize_target.ts";

/** The parts of a request that routing reads. */
export interface RoutableRequest {
  readonly method: string;
  /** Path and query, normalized by `normalizeTarget`. */
  readonly target: string;
  /** Host as returned by `hostnameOf`. */
  readonly hostname: string;
  /** Model that a request to an LLM names; `ANY_MODEL` satisfies every condition on it. */
  readonly model?: string | typeof ANY_MODEL | undefined;
  /** Returns the value of a header by its lower-case name; repeated values are joined by `, `. */
  header(name: string): string | undefined;
  /** Bounds the work of regular expressions. */
  readonly patternBudget?: PatternBudget;
}

/** The model of a request that is about all models, such as for the list of them. */
export const ANY_MODEL = Symbol("any model");

/** Condition on method, header or query parameter. */
type Condition = (request: RoutableRequest) => boolean;

/** Condition on the path. The value is normalized; a prefix has no trailing slash. */
export type PathCondition =
  | { readonly type: "Exact" | "PathPrefix"; readonly value: string }
  | {
    readonly type: "RegularExpression";
    readonly value: string;
    readonly pattern: Pattern;
  };

/** A compiled `HTTPRouteMatch`. */
export interface CompiledMatch {
  readonly path: PathCondition;
  readonly hasMethod: boolean;
  readonly headerCount: number;
  readonly queryParamCount: number;
  /** Conditions on method, headers and query parameters. */
  readonly conditions: readonly Condition[];
}

const compiled = new WeakMap<HttpMatch, CompiledMatch>();

/** Returns the compiled form of a match, which is made once: all route tables use the same. */
export function compiledMatch(match: HttpMatch): CompiledMatch {
  return compiled.getOrInsertComputed(match, compileMatch);
}

/** Compiles a match. Only the first condition on a header or query parameter counts, as the Gateway API requires. */
function compileMatch(match: HttpMatch): CompiledMatch {
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
 * Orders matches by precedence. Gateway API, `HTTPRouteRule.matches`: "Exact" path, longest prefix, method, most headers,
 * most query parameters.
 *
 * The specification leaves regular expressions open; here they come after every prefix, longer patterns first.
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

function compilePath(path: HttpMatch["path"]): PathCondition {
  const { type, value } = path;
  if (type === "RegularExpression") {
    return { type, value, pattern: patternOf(path) };
  }
  const normal = normalizePath(value).path ?? value;
  const isPrefixWithSlash = type === "PathPrefix" && normal.endsWith("/");
  return { type, value: isPrefixWithSlash ? normal.slice(0, -1) : normal };
}

function compileHeader(header: HeaderMatch): Condition {
  const { name, type, value } = header;
  const key = name.toLowerCase();
  if (key === MODEL_HEADER) return compileModel(header);
  if (type === "Exact") return (request) => request.header(key) === value;
  const pattern = patternOf(header);
  return (request) => {
    const actual = request.header(key);
    return actual !== undefined && pattern.test(actual, request.patternBudget);
  };
}

function compileModel(header: HeaderMatch): Condition {
  const { type, value } = header;
  const pattern = type === "Exact" ? undefined : patternOf(header);
  return ({ model, patternBudget }) =>
    model === ANY_MODEL ||
    model !== undefined &&
      (pattern?.test(model, patternBudget) ?? model === value);
}

/** Reports whether a match has a condition on the model. */
export function readsModel({ headers = [] }: HttpMatch): boolean {
  return headers.some(({ name }) => name.toLowerCase() === MODEL_HEADER);
}

function compileQueryParam(param: QueryParamMatch): Condition {
  const { name, type, value } = param;
  if (type === "Exact") {
    return (request) => queryOf(request).get(name) === value;
  }
  const pattern = patternOf(param);
  return (request) => {
    const actual = queryOf(request).get(name);
    return actual !== undefined && pattern.test(actual, request.patternBudget);
  };
}

/** The target that was read last, and its parameters: thousands of routes may look at the same one. */
let lastTarget = "";
let lastQuery: ReadonlyMap<string, string> = new Map();

function queryOf({ target }: RoutableRequest): ReadonlyMap<string, string> {
  if (target !== lastTarget) {
    lastQuery = readQuery(target.slice(pathEnd(target) + 1));
    lastTarget = target;
  }
  return lastQuery;
}

function firstOfEach<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const seen = new Map<string, T>();
  for (const item of items) {
    if (!seen.has(keyOf(item))) seen.set(keyOf(item), item);
  }
  return [...seen.values()];
}
