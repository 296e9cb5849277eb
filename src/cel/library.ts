/** The CEL implementation behind the gateway's expressions: parsing, planning, values; Google's Common Expression Language. */
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
} from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { resetCost } from "./cost.ts";
import { withCountedFunctions } from "./counted_functions.ts";
import {
  APPEND_FUNCTION,
  RANGE_FUNCTION,
  withCountedMacros,
} from "./macros.ts";
import { EvaluationFailure } from "./evaluation_failure.ts";
import { faultOf, type SyntaxFault } from "./syntax_fault.ts";
import { joinTexts, replaceText, splitText } from "./texts.ts";

/** What an expression computes with: whole numbers are `bigint`, objects maps, arrays lists. */
export type Value = CelInput;
/** A parsed expression; macros such as `exists` are expanded. */
export type Ast = ReturnType<typeof parse>["expr"];
/** An expression and where in the text its parts stand. */
export interface Parsed {
  readonly ast: Ast;
  offsetOf(part: Ast): number;
}

/** Maps whose keys nobody sees; see `opaqueMap`. */
const opaque = new WeakSet<object>();

const NOT_A_LIST = "there is an object where a list is expected";

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
    throw new TypeError(NOT_A_LIST);
  }
}

function isKeyOf(key: Parameters<CelMap["has"]>[0], map: CelMap): boolean {
  if (opaque.has(map)) {
    throw new TypeError(NOT_A_LIST);
  }
  return map.has(key);
}

/** A point in time, in milliseconds since the epoch. */
export function timestampValue(time: number): Value {
  timestampOf ??= plan(celEnv(), parse("timestamp(text)").expr);
  const value = timestampOf({ text: new Date(time).toISOString() });
  if (isCelError(value)) throw value;
  return value;
}

// The type of timestamps belongs to another package, which the library does not export.
let timestampOf: ReturnType<typeof plan> | undefined;

const { BOOL, DOUBLE, DYN, INT, STRING, UINT } = CelScalar;
const anyMap = mapType(DYN, DYN);

/** Characters and values that JSON of an expression may have. */
const MAX_JSON = 8 * 1024 * 1024;

/**
 * What a value is in JSON: maps become objects, bytes base64, and whole numbers that a double cannot hold text.
 * @throws {RangeError} When it is too large.
 * @throws {TypeError} For what JSON has no form of.
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
    throw new TypeError("the value is no JSON: it is not finite");
  }
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return value.toBase64();
  if (isCelUint(value)) return toJsonValue(value.value, room);
  if (isCelList(value)) {
    return Array.from(value, (item) => toJsonValue(item, room));
  }
  if (!isCelMap(value)) {
    throw new TypeError("the value is no JSON: string() makes a text of it");
  }
  // `fromEntries` makes own members of all names, also of `__proto__`.
  return Object.fromEntries(
    [...value.entries()].map(([key, item]) => [
      String(isCelUint(key) ? key.value : key),
      toJsonValue(item, room),
    ]),
  );
}

/** Made anew in `texts.ts`. */
const ownMethods: ReadonlySet<string> = new Set(["join", "replace", "split"]);

const textMethods = [
  celMethod("join", listType(STRING), [], STRING, joined),
  celMethod("join", listType(STRING), [STRING], STRING, joined),
  celMethod("replace", STRING, [STRING, STRING], STRING, replaced),
  celMethod("replace", STRING, [STRING, STRING, INT], STRING, replaced),
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

/** A function that expressions can call, such as `json(text)`. It throws for what it cannot handle. */
export interface ExpressionFunction {
  /** May have a namespace: `base64.encode`. */
  readonly name: string;
  readonly call: (argument: unknown) => Value;
}

/** What expressions are planned in: the functions that they can call. */
export class Environment {
  /** Names of functions and methods that an author can call; operators are left out. */
  readonly functionNames: ReadonlySet<string>;
  readonly #environment: CelEnv;

  /** @param functions Those of the gateway's own, besides CEL's. */
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
        celFunc(RANGE_FUNCTION, [DYN], DYN, (range) => range),
        celFunc(APPEND_FUNCTION, [DYN, DYN], DYN, appended),
      ],
    }));
    this.functionNames = new Set(
      [...this.#environment.funcs].map(({ name }) => name),
    );
  }

  /** The function that an expression is; planned once, called for every request. Never throws. */
  plan(
    ast: Ast,
  ): (bindings: Record<string, Value>) => unknown | EvaluationFailure {
    const evaluate = plan(this.#environment, withCountedMacros(ast));
    return (bindings) => {
      resetCost();
      const result = evaluate(bindings);
      return isCelError(result) ? failureOf(result.message) : result;
    };
  }
}

/** Lists that macros are making. */
const growing = new WeakMap<object, CelInput[]>();

/** Only the macro that makes the list has it before it is complete. */
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

function failureOf(message: string): EvaluationFailure {
  return new EvaluationFailure(
    message === "unresolved attribute"
      ? "a variable has no value in this request"
      : message,
  );
}
