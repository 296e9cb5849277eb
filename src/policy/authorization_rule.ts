import { nearest } from "../api/suggest.ts";
import {
  compileExpression,
  Expression,
  type ExpressionFault,
} from "../cel/expression.ts";
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import type { Variables } from "../cel/variables.ts";
import { type BodyUse, bodyUseOf } from "./body_variables.ts";
import type { PolicyProblem } from "./policy_kind.ts";
import type { RequestIdentity } from "./request_identity.ts";

/** What a rule says about a request; a failure is neither true nor false. */
export type RuleResult = boolean | EvaluationFailure;

/** A rule and what it says about a request, for whoever wants to know why. */
export interface EvaluatedRule {
  readonly rule: AuthorizationRule;
  readonly result: RuleResult;
}

/** One of `matchExpressions`. */
export class AuthorizationRule {
  readonly text: string;
  /** The scopes it asks for, when it asks for nothing else. */
  readonly requiredScopes: readonly string[] | undefined;
  readonly bodyUse: BodyUse;
  readonly #expression: Expression;
  /** Results by the claims of verified tokens, which stay the same object as long as a token is remembered. */
  readonly #decided: WeakMap<object, RuleResult> | undefined;

  constructor(expression: Expression) {
    this.text = expression.text;
    this.requiredScopes = expression.requiredScopes;
    this.bodyUse = bodyUseOf(expression.variables);
    this.#expression = expression;
    this.#decided = expression.readsOnlyClaims ? new WeakMap() : undefined;
  }

  /** @param claims Those that `variables.jwt` shows. */
  test(variables: Variables, claims: RequestIdentity["jwt"]): RuleResult {
    if (this.#decided === undefined || claims === undefined) {
      return this.#expression.test(variables);
    }
    let result = this.#decided.get(claims);
    if (result === undefined) {
      result = this.#expression.test(variables);
      this.#decided.set(claims, result);
    }
    return result;
  }
}

/** What every rule says about a request. */
export function evaluateRules(
  rules: readonly AuthorizationRule[],
  variables: Variables,
  claims: RequestIdentity["jwt"],
): readonly EvaluatedRule[] {
  return rules.map((rule) => ({ rule, result: rule.test(variables, claims) }));
}

/** Such as `rule "'a' in jwt.roles" fails: field not found: roles`; for the log, so without values from the request. */
export function describeResult({ rule, result }: EvaluatedRule): string {
  const outcome = result instanceof EvaluationFailure
    ? `fails: ${result.withoutValues(rule.text)}`
    : `is ${result}`;
  return `rule ${JSON.stringify(rule.text)} ${outcome}`;
}

/** What is wrong with the text of a rule; `undefined` when nothing is. */
export function ruleProblem(
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

/** The rule of a text without problems. @throws {TypeError} When it has any. */
export function createRule(text: string): AuthorizationRule {
  const compiled = compileExpression(text);
  if (compiled instanceof Expression) return new AuthorizationRule(compiled);
  throw new TypeError(compiled.message);
}
