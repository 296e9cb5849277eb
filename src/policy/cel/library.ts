/** Wraps the implementation of CEL (Google's Common Expression Language): parsing, planning, values. */
import {
  type CelEnv,
  celEnv,
  celFunc,
  type CelInput,
  celList,
  type CelMap,
  celMap,
  celMethod,
  CelScalar,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
  listType,
  mapType,
  parse,
  plan,
  unparse,
} from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { formatNumber } from "../../base/log/log_text.ts";
import { containsIp } from "./addresses.ts";
import {
  APPEND_FUNCTION,
  RANGE_FUNCTION,
  resetCost,
  withCountedFunctions,
  withCountedMacros,
} from "./counting.ts";
import {
  EvaluationFailure,
  isUnknown,
  prefixFunctionName,
  prefixFunctions,
  readUnknown,
  UNKNOWN,
  UNKNOWN_FUNCTION,
} from "./evaluation_failure.ts";
import { faultOf, findDeepBracket, type SyntaxFault } from "./mistakes.ts";
import { joinTexts, replaceText, splitText } from "./texts.ts";

/** A value in an expression: integers are `bigint`, objects maps, arrays lists. */
export type Value = CelInput;
/** A parsed expression; macros such as `exists` are expanded. */
export type Ast = ReturnType<typeof parse>["expr"];
/** An expression with the positions of its parts. */
export interface Parsed {
  readonly ast: Ast;
  offsetOf(part: Ast): number;
  /** Formats a part with the parentheses that it needs; macros are as their author wrote them. */
  textOf(part: Ast): string;
}

/** Maps whose keys expressions cannot list; see `opaqueMap`. */
const opaque = new WeakSet<object>();

const NOT_A_LIST = "there is an object where a list is expected";

/** Creates a map. An entry is read when an expression uses it. */
export function mapValue(entries: ReadonlyMap<string, Value>): Value {
  return celMap(entries);
}

/**
 * Creates a map for which `key in map` and macros such as `map.exists(key, …)` are errors.
 *
 * Rules such as `'admin' in jwt.roles` expect a list: a claim `{"admin": false}` must not satisfy them.
 */
export function opaqueMap(entries: ReadonlyMap<string, Value>): Value {
  const map = celMap(new EntriesWithoutKeys(entries));
  opaque.add(map);
  return map;
}

/** A map that throws when its keys are listed, which only macros do. */
class EntriesWithoutKeys extends Map<string, Value> {
  override keys(): never {
    throw new TypeError(NOT_A_LIST);
  }
}

function isKeyOf(key: Parameters<CelMap["has"]>[0], map: CelMap): boolean {
  if (opaque.has(map)) {
    throw new TypeError(NOT_A_LIST);
  }
  return map.has(key);
}

/** Creates a timestamp from milliseconds since the epoch. */
export function timestampValue(time: number): Value {
  timestampOf ??= plan(celEnv(), parse("timestamp(text)").expr);
  const value = timestampOf({ text: new Date(time).toISOString() });
  if (isCelError(value)) throw value;
  return value;
}

// The type of timestamps is in another package, which the library does not export.
let timestampOf: ReturnType<typeof plan> | undefined;

const { BOOL, DOUBLE, DYN, INT, STRING, UINT } = CelScalar;
const anyMap = mapType(DYN, DYN);

/** Limit of characters and values in the JSON of an expression. */
const MAX_JSON = 8 * 1024 * 1024;

/**
 * Converts a value to JSON: maps become objects, bytes base64, and integers that a double cannot hold strings.
 * @throws {RangeError} If it is too large.
 * @throws {TypeError} For values without a JSON form.
 */
export function toJsonValue(
  value: unknown,
  room: { left: number } = { left: MAX_JSON },
): unknown {
  const isText = typeof value === "string" || value instanceof Uint8Array;
  room.left -= isText ? value.length : 1;
  if (room.left < 0) throw new RangeError("the value is too large for JSON");
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError("the value has no JSON form: it is not finite");
  }
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return value.toBase64();
  if (isCelUint(value)) return toJsonValue(value.value, room);
  if (isCelList(value)) {
    return Array.from(value, (item) => toJsonValue(item, room));
  }
  if (!isCelMap(value)) {
    throw new TypeError("the value has no JSON form: convert it with string()");
  }
  // `fromEntries` creates own members for all names, including `__proto__`.
  return Object.fromEntries(
    [...value.entries()].map(([key, item]) => [
      String(isCelUint(key) ? key.value : key),
      toJsonValue(item, room),
    ]),
  );
}

/** Methods that `texts.ts` replaces. */
const ownMethods: ReadonlySet<string> = new Set(["join", "replace", "split"]);

const textMethods = [
  celMethod("join", listType(STRING), [], STRING, joined),
  celMethod("join", listType(STRING), [STRING], STRING, joined),
  celMethod("replace", STRING, [STRING, STRING], STRING, replaced),
  celMethod("replace", STRING, [STRING, STRING, INT], STRING, replaced),
  celMethod("containsIP", STRING, [STRING], BOOL, contains),
  celMethod("split", STRING, [STRING], listType(STRING), parts),
  celMethod("split", STRING, [STRING, INT], listType(STRING), parts),
];

function replaced(this: string, old: string, by: string, limit?: bigint) {
  return replaceText(this, old, by, limit);
}

function joined(this: Iterable<unknown>, separator?: string) {
  return joinTexts(this, separator);
}

function parts(this: string, separator: string, limit?: bigint) {
  return celList(splitText(this, separator, limit));
}

function contains(this: string, address: string) {
  return containsIp(this, address);
}

/** A function that expressions can call, such as `json(text)`. It throws for invalid arguments. */
export interface ExpressionFunction {
  /** May have a namespace: `base64.encode`. */
  readonly name: string;
  readonly call: (argument: unknown) => Value;
}

/** The functions that expressions can call. */
export class Environment {
  /** Names of functions and methods that an author can call, without operators. */
  readonly functionNames: ReadonlySet<string>;
  readonly #environment: CelEnv;

  /** @param functions The gateway's own functions, besides those of CEL. */
  constructor(functions: readonly ExpressionFunction[]) {
    this.#environment = withCountedFunctions(celEnv({
      funcs: [
        ...strings.filter(({ name }) => !ownMethods.has(name)),
        ...textMethods,
        ...functions.map(({ name, call }) => celFunc(name, [DYN], DYN, call)),
        celFunc("@in", [STRING, anyMap], BOOL, isKeyOf),
        celFunc("@in", [INT, anyMap], BOOL, isKeyOf),
        celFunc("@in", [UINT, anyMap], BOOL, isKeyOf),
        celFunc("@in", [DOUBLE, anyMap], BOOL, isKeyOf),
        celFunc("@in", [BOOL, anyMap], BOOL, isKeyOf),
        celFunc("string", [DOUBLE], STRING, formatNumber),
        celFunc(RANGE_FUNCTION, [DYN], DYN, (range) => range),
        celFunc(APPEND_FUNCTION, [DYN, DYN], DYN, appended),
        celFunc(UNKNOWN_FUNCTION, [], DYN, readUnknown),
        ...Object.entries(prefixFunctions).map(([operator, compare]) =>
          celFunc(
            prefixFunctionName(operator),
            [STRING, DYN],
            BOOL,
            (prefix, operand) => compare(prefix, stringsOf(operand)),
          )
        ),
      ],
    }));
    this.functionNames = new Set(
      [...this.#environment.funcs].map(({ name }) => name),
    );
  }

  /**
   * Plans an expression, once for all requests. The function returns its value, an `EvaluationFailure` or `UNKNOWN`; it throws when
   * the evaluation takes too many steps.
   */
  plan(ast: Ast): (bindings: Record<string, Value>) => unknown {
    const evaluate = plan(this.#environment, withCountedMacros(ast));
    return (bindings) => {
      resetCost();
      const result = evaluate(bindings);
      if (!isCelError(result)) return result;
      return isUnknown(result) ? UNKNOWN : failureOf(result.message);
    };
  }
}

/** Lists that macros are building. */
const growing = new WeakMap<object, CelInput[]>();

/** Appends in place: no other part of the expression sees the list before it is complete. */
function appended(list: CelInput, item: CelInput): CelInput {
  const items = typeof list === "object" && list !== null
    ? growing.get(list)
    : undefined;
  if (items === undefined) {
    const first = [item];
    const made = celList(first);
    growing.set(made, first);
    return made;
  }
  items.push(item);
  return list;
}

/** Returns a string, or the strings in a list, of a result of an expression. */
export function stringsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (!isCelList(value)) return [];
  return [...value].filter((item) => typeof item === "string");
}

/** Parses an expression; returns a fault if the syntax is invalid. */
export function parseExpression(text: string): Parsed | SyntaxFault {
  const tooDeep = findDeepBracket(text);
  if (tooDeep !== undefined) return tooDeep;
  try {
    const parsed = parse(text);
    const positions: Readonly<Record<string, number>> =
      parsed.sourceInfo?.positions ?? {};
    return {
      ast: parsed.expr,
      offsetOf: ({ id }) => positions[String(id)] ?? 0,
      textOf: (part) => unparse({ ...parsed, expr: part }),
    };
  } catch (error) {
    return faultOf(error);
  }
}

function failureOf(message: string): EvaluationFailure {
  return new EvaluationFailure(
    message === "unresolved attribute"
      ? "a variable has no value in this request"
      : message,
  );
}
