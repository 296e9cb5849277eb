import { compileExpression, Expression } from "../cel/expression.ts";
import { RequestVariables } from "../expressions/request_variables.ts";
import { faultProblem } from "../expressions/expression_checks.ts";
import type { PolicyContext } from "../contract/policy.ts";
import type { PolicyProblem } from "../contract/policy_kind.ts";

/** Computes the value by which a request keeps its endpoint. */
export interface HashKey {
  /** The expression; tells keys apart. */
  readonly text: string;
  /** Returns `undefined` when the expression errors, or its value is not a string, a number or a boolean. */
  of(context: PolicyContext): string | undefined;
}

const unavailable = ["backend", "response", "llm", "mcp"] as const;

/** Compiles the expression of a hash key, or returns its problem. */
export function compileHashKey(
  text: string,
  path: PolicyProblem["path"],
): HashKey | PolicyProblem {
  const expression = compileExpression(text);
  if (!(expression instanceof Expression)) {
    return faultProblem(expression, path);
  }
  const name = unavailable.find((each) => expression.variables.has(each)) ??
    (expression.reads("request.body") ? "request.body" : undefined);
  if (name !== undefined) {
    return { path, message: `Cannot use "${name}" to choose an endpoint` };
  }
  return {
    text,
    of(context) {
      const value = expression.evaluate(new RequestVariables(context));
      return ["string", "number", "bigint", "boolean"].includes(typeof value)
        ? String(value)
        : undefined;
    },
  };
}
