import { nearest } from "../../api/schema/suggest.ts";
import type { Hide } from "../../base/redaction.ts";
import {
  compileExpression,
  Expression,
  type ExpressionFault,
} from "../../cel/expression.ts";
import type { ResultType } from "../../cel/result_type.ts";
import type { PolicyProblem } from "../policy_kind.ts";

/** What is wrong with an expression that decides over a request, as in rules and limits; `undefined` when nothing is. */
export function decisionProblem(
  text: string,
  path: PolicyProblem["path"],
): PolicyProblem | undefined {
  const compiled = compileExpression(text);
  if (!(compiled instanceof Expression)) return faultProblem(compiled, path);
  const [name, reason] = notInRules.find(([each]) => isRead(compiled, each)) ??
    [];
  return name === undefined
    ? undefined
    : { path, message: `Cannot use "${name}" in a rule: ${reason}` };
}

const notInRules = [
  ["backend", "rules run before a backend is chosen"],
  ["response", "rules run before there is a response"],
  ["request.body", "only transformations read bodies"],
] as const;

function isRead(
  expression: Expression,
  name: typeof notInRules[number][0],
): boolean {
  return name === "request.body"
    ? expression.reads(name)
    : expression.variables.has(name);
}

/** Types of results that a policy can use. */
export interface Accepted {
  readonly types: readonly ResultType[];
  /** The same in words. */
  readonly text: string;
}

/** Yes or no. */
export const condition: Accepted = { types: ["boolean"], text: "a boolean" };

/** What no request can have a usable value of is a mistake of whoever wrote it; `undefined` when some may. */
export function typeProblem(
  text: string,
  path: PolicyProblem["path"],
  { types, text: expected }: Accepted,
): PolicyProblem | undefined {
  const compiled = compileExpression(text);
  const type = compiled instanceof Expression ? compiled.resultType : undefined;
  if (type === undefined || types.includes(type)) return undefined;
  const message =
    `Cannot use the expression: expected ${expected}, got a ${type}`;
  return { path, message };
}

/** A fault as what is wrong with the configuration at `path`. */
export function faultProblem(
  { message, offset, unknown }: ExpressionFault,
  path: PolicyProblem["path"],
): PolicyProblem {
  const suggestion = unknown && nearest(unknown.name, unknown.candidates);
  return {
    path,
    message: `Cannot use the expression: ${message}`,
    offset,
    ...(suggestion !== undefined && { suggestion }),
  };
}

/**
 * The expression of a text that was checked. This is where an expression gets the text that is shown of it.
 * @throws {TypeError} When it has a fault after all.
 */
export function compileChecked(text: string, hide: Hide): Expression {
  const compiled = compileExpression(text, hide(text));
  if (compiled instanceof Expression) return compiled;
  throw new TypeError(compiled.message);
}
