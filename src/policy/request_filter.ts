import { compileExpression, Expression } from "../cel/expression.ts";
import type { PolicyContext } from "./policy.ts";
import { RequestVariables } from "./request_variables.ts";

/** Whether a request is one of those that are looked for. */
export type RequestFilter = (context: PolicyContext) => boolean;

/** What there is before anything has happened to a request. */
const known: ReadonlySet<string> = new Set(["request", "source", "env"]);

/**
 * Compiles an expression over requests as they arrive; it is false for those for which it fails.
 * @throws {SyntaxError} With a message such as `unknown variable "requst" at column 1`.
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
      `"${unknown}" is not known yet: a filter sees the request as it arrives, in "request", "source" and "env"`,
    );
  }
  return (context) => expression.test(new RequestVariables(context)) === true;
}
