import { nearest } from "../../api/schema/suggest.ts";
import { type Hide, hideCompared } from "../../base/redaction.ts";
import {
  compileExpression,
  Expression,
  type ExpressionFault,
} from "../cel/expression.ts";
import type { ResultType } from "../cel/result_type.ts";
import type { PolicyProblem } from "../contract/policy_kind.ts";
import { usageFields } from "./llm_usage.ts";

/** An expression, or the fault of an invalid one. */
export type CompiledExpression = Expression | ExpressionFault;

const compiledBy = new WeakMap<Hide, Map<string, CompiledExpression>>();

/**
 * Compiles an expression, once per configuration: later calls with the same string and `hide` return the same object.
 * @param hide Redacts the string for log, trace and metrics; belongs to one configuration.
 */
export function compileOnce(text: string, hide: Hide): CompiledExpression {
  const compiled = compiledBy.getOrInsertComputed(hide, () => new Map());
  return compiled.getOrInsertComputed(text, () => {
    const shown = hide(hideCompared(text));
    const result = compileExpression(text, shown);
    return result instanceof Expression || hide(text) === text ||
        quotesOnly(shown, result, hide)
      ? result
      : hiddenFault;
  });
}

/** A fault of an expression with a value of the environment, a piece of which its message may quote. */
const hiddenFault: ExpressionFault = {
  message: "it is invalid with the value of its environment variable",
  offset: 0,
};

/** Reports whether a message quotes only what is shown of the expression, or a whole value, which is hidden later. */
function quotesOnly(
  shown: string,
  { message }: ExpressionFault,
  hide: Hide,
): boolean {
  const quoted = [...message.matchAll(/"([^"]+)"/g)].map(([, text = ""]) =>
    text
  );
  return quoted.length > 0 &&
    quoted.every((text) => shown.includes(text) || hide(text) !== text);
}

/** Returns why an expression cannot be used in rules and limits; `undefined` when it can. */
export function decisionProblem(
  compiled: CompiledExpression,
  path: PolicyProblem["path"],
): PolicyProblem | undefined {
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
  ...usageFields.map((name) =>
    [name, "rules run before there is a response"] as const
  ),
] as const;

function isRead(
  expression: Expression,
  name: typeof notInRules[number][0],
): boolean {
  return name === "backend" || name === "response"
    ? expression.variables.has(name)
    : expression.reads(name);
}

/** Types of results that a policy can use. */
export interface Accepted {
  readonly types: readonly ResultType[];
  /** Description of the types, for messages. */
  readonly text: string;
}

/** Accepts booleans. */
export const condition: Accepted = { types: ["boolean"], text: "a boolean" };

/** Returns the problem of an expression whose value never has an accepted type; `undefined` when it may have one. */
export function typeProblem(
  compiled: CompiledExpression,
  path: PolicyProblem["path"],
  { types, text: expected }: Accepted,
): PolicyProblem | undefined {
  const type = compiled instanceof Expression ? compiled.resultType : undefined;
  if (type === undefined || types.includes(type)) return undefined;
  const message =
    `Cannot use the expression: expected ${expected}, got a ${type}`;
  return { path, message };
}

/** Describes a fault as a problem of the configuration at `path`. */
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
 * Compiles an expression that was checked.
 * @throws {TypeError} If the expression is invalid.
 */
export function compileChecked(text: string, hide: Hide): Expression {
  const compiled = compileOnce(text, hide);
  if (compiled instanceof Expression) return compiled;
  throw new TypeError(compiled.message);
}
