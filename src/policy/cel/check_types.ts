import type { Ast, Parsed } from "./library.ts";
import { textOf, visitParts } from "./paths.ts";
import { isAddress, isRange } from "./addresses.ts";
import { isHeaderValue, type ResultType, resultTypeOf } from "./result_type.ts";
import { isVariable } from "./variables.ts";

/** An operator or a method that fails for every request. */
export interface TypeMistake {
  /** Such as `cannot apply "+" to a string and a number`. */
  readonly message: string;
  readonly offset: number;
  /** Such as `convert one with string() or int()`; empty when the message suffices. */
  readonly remedy: string;
}

type Types = readonly ResultType[];

/** Types of operands by operator, for those whose operands have types of their own. */
const operandTypes: Readonly<Record<string, Types>> = {
  "_&&_": ["boolean"],
  "_||_": ["boolean"],
  "!_": ["boolean"],
  "_+_": ["number", "string", "bytes", "list", "timestamp"],
  "_-_": ["number", "timestamp"],
  "_*_": ["number"],
  "_/_": ["number"],
  "_%_": ["number"],
  "-_": ["number"],
  "_<_": ["number", "string", "bytes", "boolean", "timestamp"],
  "_<=_": ["number", "string", "bytes", "boolean", "timestamp"],
  "_>_": ["number", "string", "bytes", "boolean", "timestamp"],
  "_>=_": ["number", "string", "bytes", "boolean", "timestamp"],
};
/** Operators whose operands have one type; without the timestamps, to which durations can be added. */
const needsEqualTypes = new Set(["_+_", "_<_", "_<=_", "_>_", "_>=_"]);
const equality = new Set(["_==_", "_!=_"]);
const address = { noun: "IP address", test: isAddress };
/** Arguments of functions, as far as they are written in the expression. */
const addressTests: Readonly<Record<string, typeof address>> = {
  ip: address,
  containsIP: address,
  cidr: { noun: 'range of IP addresses, such as "10.0.0.0/8"', test: isRange },
};
const textMethods = new Set([
  "containsIP",
  "startsWith",
  "endsWith",
  "contains",
  "matches",
  "lowerAscii",
  "upperAscii",
  "trim",
  "split",
  "substring",
]);

/** Finds an operation whose operands never have the types that it needs. Operands that depend on the request can have any type. */
export function findTypeMistake(
  { ast, offsetOf }: Parsed,
): TypeMistake | undefined {
  let mistake: TypeMistake | undefined;
  visitParts(ast, new Set(), (part, local) => {
    // A name of a macro may hide a variable, whose type is another one.
    if ([...local].some(isVariable)) return false;
    if (part.exprKind.case === "callExpr") {
      const found = mistakeOfCall(part.exprKind.value);
      // The innermost one: what is around it has its type.
      if (found !== undefined) {
        mistake = { remedy: "", ...found, offset: offsetOf(part) };
      }
    }
    return true;
  });
  return mistake;
}

interface Call {
  readonly function: string;
  readonly target?: Ast | undefined;
  readonly args: readonly Ast[];
}

function mistakeOfCall(
  { function: name, target, args }: Call,
): Pick<TypeMistake, "message"> & Partial<TypeMistake> | undefined {
  const operands = args.map(typesOf);
  const [left, right] = operands;
  const sign = name === "@in" ? "in" : name.replaceAll("_", "");
  if (name === "_?_:_") {
    return isNever(left, ["boolean"])
      ? { message: `the condition of "?:" is a ${nameOf(left)}` }
      : undefined;
  }
  if (name === "@in") {
    return isNever(right, ["list", "map"])
      ? { message: `cannot look into a ${nameOf(right)} with "in"` }
      : undefined;
  }
  const literal = args[0] && textOf(args[0]);
  const addresses = Object.hasOwn(addressTests, name)
    ? addressTests[name]
    : undefined;
  if (literal !== undefined && addresses?.test(literal) === false) {
    return { message: `${JSON.stringify(literal)} is no ${addresses.noun}` };
  }
  if (target !== undefined && textMethods.has(name)) {
    const receiver = typesOf(target);
    return isNever(receiver, ["string", "list"])
      ? { message: `a ${nameOf(receiver)} has no ${name}()` }
      : undefined;
  }
  if (equality.has(name) && areDisjoint(left, right)) {
    const isNull = [left, right].some((types) => types?.includes("null"));
    return isNull ? undefined : {
      message: `a ${nameOf(left)} never equals a ${nameOf(right)}`,
      remedy: conversionOf(left, right),
    };
  }
  const accepted = Object.hasOwn(operandTypes, name)
    ? operandTypes[name] ?? []
    : undefined;
  if (accepted === undefined) return undefined;
  if (operands.some((types) => isNever(types, accepted))) {
    return { message: `cannot apply "${sign}" to ${listOf(operands)}` };
  }
  return needsEqualTypes.has(name) && areDisjoint(left, right)
    ? {
      message: `cannot apply "${sign}" to ${listOf(operands)}`,
      remedy: conversionOf(left, right),
    }
    : undefined;
}

/** Returns the types that a part can have; `undefined` when that depends on the request. */
function typesOf(part: Ast): Types | undefined {
  // A repeated field is a list.
  if (isHeaderValue(part)) return ["string", "list"];
  const type = resultTypeOf(part);
  return type && [type];
}

function isNever(types: Types | undefined, accepted: Types): boolean {
  return types !== undefined && !types.some((type) => accepted.includes(type));
}

function areDisjoint(
  left: Types | undefined,
  right: Types | undefined,
): boolean {
  return right !== undefined && isNever(left, right);
}

function nameOf(types: Types | undefined): string {
  return types?.[0] ?? "value";
}

function listOf(operands: readonly (Types | undefined)[]): string {
  return operands.map((types) =>
    types === undefined ? "" : `a ${nameOf(types)}`
  )
    .filter((text) => text !== "").join(" and ");
}

function conversionOf(
  left: Types | undefined,
  right: Types | undefined,
): string {
  const names = [nameOf(left), nameOf(right)];
  return names.includes("string") && names.includes("number")
    ? "convert one of them with int() or string()"
    : "";
}
