import { expressionFunctions } from "./functions.ts";
import { type Ast, Environment, type Value } from "./library.ts";
import { describeError } from "../../base/errors.ts";
import {
  EvaluationFailure,
  prefixFunctionName,
  UNKNOWN,
  UNKNOWN_FUNCTION,
} from "./evaluation_failure.ts";
import {
  type FieldPath,
  type FieldRead,
  fieldReadsOf,
  pathOf,
  visitFields,
  visitParts,
} from "./paths.ts";
import { typeName } from "./result_type.ts";
import { isVariable, type Variables } from "./variables.ts";

let made: Environment | undefined;

/** Returns the environment of all expressions, which is created for the first one. */
export function environment(): Environment {
  return made ??= new Environment(expressionFunctions);
}

/** Plans an expression. The function returns its value, why there is none, or `UNKNOWN`; it never throws. */
export function planValue(
  ast: Ast,
  reads: readonly FieldRead[] = fieldReadsOf(ast),
): (variables: Variables) => unknown {
  const names = [...new Set(reads.map(({ path: [name] }) => name))]
    .filter(isVariable);
  const evaluate = environment().plan(ast);
  return (variables) => {
    try {
      const bindings: Record<string, Value> = {};
      for (const name of names) {
        const value = variables[name];
        if (value !== undefined) bindings[name] = value;
      }
      return evaluate(bindings);
    } catch (error) {
      return new EvaluationFailure(describeError(error));
    }
  };
}

/** Plans a condition: anything but a boolean is a failure. */
function planCondition(
  ast: Ast,
): (variables: Variables) => boolean | EvaluationFailure | typeof UNKNOWN {
  const evaluate = planValue(ast);
  return (variables) => {
    const value = evaluate(variables);
    return value === UNKNOWN ? UNKNOWN : asCondition(value);
  };
}

/** Returns the result of an expression as that of a condition. */
export function asCondition(value: unknown): boolean | EvaluationFailure {
  if (typeof value === "boolean" || value instanceof EvaluationFailure) {
    return value;
  }
  return new EvaluationFailure(`expected a boolean, got a ${typeName(value)}`);
}

/**
 * Replaces comparisons of a field of which only the beginning is known: `startsWith`, `==` and `in` may be decided by that.
 * @returns The operands that hold the beginning; all other uses of the field need the whole.
 */
function comparePrefixes(ast: Ast, field: FieldPath): ReadonlySet<Ast> {
  const operands = new Set<Ast>();
  visitParts(ast, new Set(), (part, local) => {
    if (part.exprKind.case !== "callExpr") return true;
    const call = part.exprKind.value;
    const [left, right] = call.target === undefined
      ? call.args
      : [call.target, ...call.args];
    const isField = (operand: Ast | undefined): operand is Ast =>
      !local.has(field[0]) && pathOf(operand)?.join() === field.join();
    const isEqual = call.function === "_==_";
    const [known, other] = isEqual && isField(right)
      ? [right, left]
      : [left, right];
    if (!isField(known) || other === undefined) return true;
    if (!isEqual && call.function !== "@in" && call.function !== "startsWith") {
      return true;
    }
    call.function = prefixFunctionName(call.function);
    delete call.target;
    call.args = [known, other];
    operands.add(known);
    return true;
  });
  return operands;
}

/** Selects the inputs of an expression that are not known, by the field that it reads. */
export type IsUnknownInput = (
  path: FieldPath,
  /** Only the existence of the field is read: `has(mcp.tool)`. */
  isPresenceTest: boolean,
) => boolean;

/** Selects a field with everything in it. A value around the field is unknown too; whether it exists is known. */
export function unknownField(field: FieldPath): IsUnknownInput {
  return (path, isPresenceTest) => {
    const common = Math.min(path.length, field.length);
    return field.slice(0, common).every((name, i) => name === path[i]) &&
      (!isPresenceTest || path.length >= field.length);
  };
}

/** Three-valued result of a condition: `UNKNOWN` when it depends on unknown inputs. */
export type PartialResult = boolean | EvaluationFailure | typeof UNKNOWN;

/**
 * Plans a condition some of whose inputs are not known.
 *
 * The logic is that of Kleene, as in CEL: `false && unknown` is false, `true || unknown` is true, and whatever else reads an unknown
 * input is unknown. An error and an unknown operand together are unknown.
 * @param prefixField A string, unknown too, whose beginning is known: the variables have that in its place.
 */
export function planPartially(
  ast: Ast,
  isUnknownInput: IsUnknownInput,
  prefixField?: FieldPath,
): (variables: Variables) => PartialResult {
  const partial = structuredClone(ast);
  const prefixes = prefixField && comparePrefixes(partial, prefixField);
  visitFields(partial, (part, path) => {
    if (prefixes?.has(part)) return;
    const { exprKind: kind } = part;
    const isPresenceTest = kind.case === "selectExpr" && kind.value.testOnly;
    // A namespace of functions is no input.
    if (!isVariable(path[0]) || !isUnknownInput(path, isPresenceTest)) return;
    part.exprKind = {
      case: "callExpr",
      value: {
        $typeName: "cel.expr.Expr.Call",
        function: UNKNOWN_FUNCTION,
        args: [],
      },
    };
  });
  return planCondition(partial);
}
