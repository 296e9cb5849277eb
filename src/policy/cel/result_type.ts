import type { Ast } from "./library.ts";
import { textOf } from "./paths.ts";

/** Type of an expression's value, as far as its text determines it. */
export type ResultType =
  | "boolean"
  | "string"
  | "number"
  | "bytes"
  | "null"
  | "list"
  | "map"
  | "timestamp";

/** Returns the name of a value's type for messages. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  return typeof value === "bigint" ? "number" : typeof value;
}

/** Returns the type of all values of an expression; `undefined` when it depends on the request. */
export function resultTypeOf(ast: Ast): ResultType | undefined {
  const { exprKind: kind } = ast;
  switch (kind.case) {
    case "constExpr":
      return constants[kind.value.constantKind.case ?? ""];
    case "listExpr":
      return "list";
    case "structExpr":
      return "map";
    case "identExpr":
      return variables[kind.value.name];
    case "selectExpr":
      return kind.value.testOnly
        ? "boolean"
        : fieldType(kind.value.operand, kind.value.field);
    case "callExpr":
      return typeOfCall(kind.value.function, kind.value.args);
    case "comprehensionExpr":
      return typeOfMacro(kind.value);
    default:
      return undefined;
  }
}

type Types = Readonly<Record<string, ResultType | undefined>>;

const constants: Types = table({
  boolValue: "boolean",
  stringValue: "string",
  int64Value: "number",
  uint64Value: "number",
  doubleValue: "number",
  bytesValue: "bytes",
  nullValue: "null",
});

const variables: Types = table({ request: "map", source: "map", env: "map" });

const fields: Types = table({
  "request.method": "string",
  "request.uri": "string",
  "request.host": "string",
  "request.scheme": "string",
  "request.path": "string",
  "request.pathAndQuery": "string",
  "request.version": "string",
  "request.body": "string",
  "request.headers": "map",
  "request.startTime": "timestamp",
  "source.address": "string",
  "source.port": "number",
  "env.podName": "string",
  "env.namespace": "string",
  "env.gateway": "string",
});

/** Functions whose type does not depend on their arguments. */
const functions: Types = table({
  "_&&_": "boolean",
  "_||_": "boolean",
  "!_": "boolean",
  "_==_": "boolean",
  "_!=_": "boolean",
  "_<_": "boolean",
  "_<=_": "boolean",
  "_>_": "boolean",
  "_>=_": "boolean",
  "@in": "boolean",
  startsWith: "boolean",
  endsWith: "boolean",
  contains: "boolean",
  matches: "boolean",
  isIP: "boolean",
  isCIDR: "boolean",
  containsIP: "boolean",
  bool: "boolean",
  "_*_": "number",
  "_/_": "number",
  "_%_": "number",
  size: "number",
  int: "number",
  uint: "number",
  double: "number",
  indexOf: "number",
  string: "string",
  ip: "string",
  cidr: "string",
  lowerAscii: "string",
  upperAscii: "string",
  trim: "string",
  replace: "string",
  substring: "string",
  join: "string",
  split: "list",
  timestamp: "timestamp",
});

function typeOfCall(
  name: string,
  args: readonly Ast[],
): ResultType | undefined {
  const [first, second, third] = args;
  switch (name) {
    case "_+_":
      return first && resultTypeOf(first) || second && resultTypeOf(second);
    // Others are times and durations.
    case "-_":
    case "_-_":
      return args.some((each) => resultTypeOf(each) === "number")
        ? "number"
        : undefined;
    case "_?_:_": {
      const type = second && resultTypeOf(second);
      return third && resultTypeOf(third) === type ? type : undefined;
    }
    case "_[_]": {
      const field = second && textOf(second);
      if (first === undefined) return undefined;
      if (isHeaders(first)) return "string";
      return field === undefined ? undefined : fieldType(first, field);
    }
    default:
      return functions[name];
  }
}

function fieldType(
  operand: Ast | undefined,
  field: string,
): ResultType | undefined {
  if (operand === undefined) return undefined;
  if (isHeaders(operand)) return "string";
  const { exprKind: kind } = operand;
  return kind.case === "identExpr"
    ? fields[`${kind.value.name}.${field}`]
    : undefined;
}

/** Reports whether an expression is the value of a header. */
export function isHeaderValue({ exprKind: kind }: Ast): boolean {
  if (kind.case === "selectExpr") {
    const { operand, testOnly } = kind.value;
    return !testOnly && operand !== undefined && isHeaders(operand);
  }
  if (kind.case !== "callExpr" || kind.value.function !== "_[_]") return false;
  const [operand] = kind.value.args;
  return operand !== undefined && isHeaders(operand);
}

function isHeaders({ exprKind: kind }: Ast): boolean {
  return kind.case === "selectExpr" && !kind.value.testOnly &&
    kind.value.field === "headers" &&
    kind.value.operand?.exprKind.case === "identExpr";
}

/** Returns the type of a macro: a boolean for `exists` and `all`, a list for `map` and `filter`. */
function typeOfMacro(
  { accuInit, result }: {
    readonly accuInit?: Ast | undefined;
    readonly result?: Ast | undefined;
  },
): ResultType | undefined {
  const gathers = result?.exprKind.case === "identExpr";
  const type = gathers ? accuInit : result;
  return type && resultTypeOf(type);
}

/** Creates a table without inherited names such as `constructor`, since authors choose the names. */
function table(types: Types): Types {
  return Object.assign(Object.create(null), types);
}
