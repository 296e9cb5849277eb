import { describeError } from "../base/errors.ts";
import { environment } from "./environment.ts";
import { EvaluationFailure } from "./evaluation_failure.ts";
import type { Ast, Value } from "./library.ts";
import { type FieldRead, fieldReadsOf } from "./paths.ts";
import { typeName } from "./result_type.ts";
import { UNKNOWN } from "./partial/unknown.ts";
import { isVariable, type Variables } from "./variables.ts";

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
export function planCondition(
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
