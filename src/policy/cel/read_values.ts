import { EvaluationFailure } from "./evaluation_failure.ts";
import { type Ast, toJsonValue } from "./library.ts";
import { type FieldPath, visitFields } from "./paths.ts";
import { planValue } from "./plan.ts";
import { isVariable, type Variables } from "./variables.ts";

/** A field that an expression reads, with its value in a request. */
export interface ReadValue {
  readonly path: FieldPath;
  /** As JSON; `undefined` if the request does not have the field, `TOO_LONG` if it cannot be shown. */
  readonly value: unknown;
}

/** Value of a field that is too long, or has no form in JSON. */
export const TOO_LONG: unique symbol = Symbol("too long");

/** Fields of an expression whose values are wanted; rules seldom read more. */
const MAX_FIELDS = 8;
/** Characters and values of one field. */
const MAX_JSON = 4096;

/** Plans to read the fields of an expression, outside of its macros; each is read once, at most 8. */
export function planReads(
  ast: Ast,
): (variables: Variables) => readonly ReadValue[] {
  const plans = new Map<string, (variables: Variables) => ReadValue>();
  visitFields(ast, (part, path) => {
    const key = JSON.stringify(path);
    if (!isVariable(path[0]) || plans.size >= MAX_FIELDS) return;
    const { exprKind: kind } = part;
    // `has(jwt.sub)` asks for the field, and would read as a boolean.
    const field: Ast = kind.case === "selectExpr" && kind.value.testOnly
      ? {
        ...part,
        exprKind: { ...kind, value: { ...kind.value, testOnly: false } },
      }
      : part;
    const evaluate = planValue(field);
    plans.set(key, (variables) => ({ path, value: json(evaluate(variables)) }));
  });
  return (variables) => [...plans.values()].map((read) => read(variables));
}

function json(value: unknown): unknown {
  if (value instanceof EvaluationFailure) return undefined;
  try {
    return toJsonValue(value, { left: MAX_JSON });
  } catch {
    return TOO_LONG;
  }
}
