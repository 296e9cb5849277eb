import { compileExpression, Expression } from "../cel/expression.ts";
import { typeName } from "../cel/result_type.ts";
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import type { PolicyContext } from "../contract/policy.ts";
import { RequestVariables } from "../expressions/request_variables.ts";

/** Returns whether a request matches; throws when the value of the expression is not a boolean. */
export type RequestFilter = (context: PolicyContext) => boolean;

/** Variables that have values before any policy has run. */
const known: ReadonlySet<string> = new Set(["request", "source", "env"]);

/**
 * Compiles an expression over requests as they arrive; requests for which it errors do not match.
 * @throws {SyntaxError} With a message such as `unknown variable "requst" at column 1`.
 * @throws {TypeError} If its value is never a boolean.
 */
export function compileRequestFilter(text: string): RequestFilter {
  const expression = compileExpression(text);
  if (!(expression instanceof Expression)) {
    throw new SyntaxError(expression.message);
  }
  const unknown = [...expression.variables].find((name) => !known.has(name)) ??
    (expression.reads("request.body") ? "request.body" : undefined);
  if (unknown !== undefined) {
    throw new SyntaxError(
      `"${unknown}" is not available in a filter, which runs before all policies: use "request", "source" and "env"`,
    );
  }
  const type = expression.resultType ?? "boolean";
  if (type !== "boolean") throw notBoolean(type);
  return (context) => {
    const value = expression.evaluate(new RequestVariables(context));
    if (value instanceof EvaluationFailure) return false;
    if (typeof value !== "boolean") throw notBoolean(typeName(value));
    return value;
  };
}

function notBoolean(type: string): TypeError {
  return new TypeError(`expected a boolean, got a ${type}`);
}
