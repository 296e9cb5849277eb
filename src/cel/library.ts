/** The CEL implementation behind the gateway's expressions: parsing, planning, values; Google's Common Expression Language. */
import {
  celEnv,
  celFunc,
  type CelInput,
  type CelMap,
  celMap,
  CelScalar,
  isCelError,
  mapType,
  parse,
  plan,
} from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";

/** What an expression computes with: whole numbers are `bigint`, objects maps, arrays lists. */
export type Value = CelInput;
/** A parsed expression; macros such as `exists` are expanded. */
export type Ast = ReturnType<typeof parse>["expr"];
/** What is wrong with an expression, and where: `offset` counts UTF-16 units from its beginning. */
export interface SyntaxFault {
  readonly message: string;
  readonly offset: number;
}

/** An expression and where in the text its parts stand. */
export interface Parsed {
  readonly ast: Ast;
  offsetOf(part: Ast): number;
}

/** Maps whose keys nobody sees; see `opaqueMap`. */
const opaque = new WeakSet<object>();

const notAList = "there is an object where a list is expected";

/** A map. The entries are read when an expression asks for them. */
export function mapValue(entries: ReadonlyMap<string, Value>): Value {
  return celMap(entries);
}

/**
 * A map for which `key in map` and macros such as `map.exists(key, …)` are errors.
 *
 * A rule such as `'admin' in jwt.roles` is meant for a list; a provider that sends `{"admin": false}` must not satisfy it.
 */
export function opaqueMap(entries: ReadonlyMap<string, Value>): Value {
  const map = celMap(new EntriesWithoutKeys(entries));
  opaque.add(map);
  return map;
}

/** Macros ask a map for its keys, and nothing else does. */
class EntriesWithoutKeys extends Map<string, Value> {
  override keys(): never {
    throw new TypeError(notAList);
  }
}

function isKeyOf(key: Parameters<CelMap["has"]>[0], map: CelMap): boolean {
  if (opaque.has(map)) {
    throw new TypeError(notAList);
  }
  return map.has(key);
}

/** A point in time, in milliseconds since the epoch. */
export function timestampValue(time: number): Value {
  const value = evaluateTimestamp({ text: new Date(time).toISOString() });
  if (isCelError(value)) throw value;
  return value;
}

// The type of timestamps belongs to another package, which the library does not export.
const evaluateTimestamp = plan(celEnv(), parse("timestamp(text)").expr);

const { BOOL, DOUBLE, DYN, INT, STRING, UINT } = CelScalar;
const anyMap = mapType(DYN, DYN);

const environment = celEnv({
  funcs: [
    ...strings,
    celFunc("@in", [STRING, anyMap], BOOL, isKeyOf),
    celFunc("@in", [INT, anyMap], BOOL, isKeyOf),
    celFunc("@in", [UINT, anyMap], BOOL, isKeyOf),
    celFunc("@in", [DOUBLE, anyMap], BOOL, isKeyOf),
    celFunc("@in", [BOOL, anyMap], BOOL, isKeyOf),
  ],
});

/** Names of functions and methods that an author can call; operators are left out. */
export const functionNames: ReadonlySet<string> = new Set(
  [...environment.funcs].map(({ name }) => name),
);

/** The parsed expression, or what keeps it from being one. */
export function parseExpression(text: string): Parsed | SyntaxFault {
  try {
    const { expr, sourceInfo } = parse(text);
    const positions: Readonly<Record<string, number>> = sourceInfo?.positions ??
      {};
    return { ast: expr, offsetOf: ({ id }) => positions[String(id)] ?? 0 };
  } catch (error) {
    return faultOf(error);
  }
}

/** The parser's errors are not exported; they have `rawMessage`, `location.start.offset` and, for syntax, `found`. */
function faultOf(error: unknown): SyntaxFault {
  const start = property(property(error, "location"), "start");
  const offset = property(start, "offset");
  const raw = property(error, "rawMessage");
  // The list of everything that could have come instead is longer than it is helpful.
  const unexpected = /^found (.*?) but expecting/s.exec(String(raw))?.[1];
  return {
    message: unexpected !== undefined
      ? `unexpected ${unexpected}`
      : typeof raw === "string"
      ? raw
      : "it is nested too deep",
    offset: typeof offset === "number" ? offset : 0,
  };
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

/** Why an expression has no value for a request. */
export class EvaluationFailure {
  /** For log and trace: it may quote the request. */
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }

  /** The message for those who must not see values of the request; names that stand in the expression stay. */
  withoutValues(expression: string): string {
    const [, name] = /^field not found: (.*)$/s.exec(this.message) ?? [];
    if (name !== undefined && expression.includes(name)) return this.message;
    return typesOnly.test(this.message) ? this.message : "it has no value";
  }
}

/** Messages that name types and never values: the library's, then our own. */
const typesOnly =
  /^(?:found no matching overload for|type mismatch:|a variable has|expected a boolean, got|there is an object|the body is no|the claims are)/;

/** The function that an expression is; planned once, called for every request. Never throws. */
export function planExpression(
  ast: Ast,
): (bindings: Record<string, Value>) => unknown | EvaluationFailure {
  const evaluate = plan(environment, ast);
  return (bindings) => {
    const result = evaluate(bindings);
    return isCelError(result) ? failureOf(result.message) : result;
  };
}

function failureOf(message: string): EvaluationFailure {
  return new EvaluationFailure(
    message === "unresolved attribute"
      ? "a variable has no value in this request"
      : message,
  );
}
