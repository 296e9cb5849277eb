import type { Hide } from "../../base/redaction.ts";
import { EvaluationFailure } from "../../cel/evaluation_failure.ts";
import type { Expression } from "../../cel/expression.ts";
import type { Variables } from "../../cel/variables.ts";
import { type BodyUse, bodyUseOf } from "../expressions/body_variables.ts";
import { compileChecked } from "../expressions/expression_checks.ts";
import type { Claims } from "../identity.ts";

/** Result of a rule for a request; a failure is neither true nor false. */
export type RuleResult = boolean | EvaluationFailure;

/** A rule and what it says about a request, for whoever wants to know why. */
export interface EvaluatedRule {
  readonly rule: AuthorizationRule;
  readonly result: RuleResult;
}

/** One of `matchExpressions`. */
export class AuthorizationRule {
  /** Its text as log and trace have it. */
  readonly shown: string;
  /** The scopes it asks for, when it asks for nothing else. */
  readonly requiredScopes: readonly string[] | undefined;
  readonly bodyUse: BodyUse;
  readonly #expression: Expression;
  /** Results by the claims of verified tokens, which stay the same object as long as a token is remembered. */
  readonly #decided: WeakMap<object, RuleResult> | undefined;

  constructor(text: string, hide: Hide) {
    const expression = compileChecked(text, hide);
    this.shown = expression.shown;
    this.requiredScopes = expression.requiredScopes;
    this.bodyUse = bodyUseOf(expression);
    this.#expression = expression;
    this.#decided = expression.readsOnlyClaims ? new WeakMap() : undefined;
  }

  /** @param claims Those that `variables.jwt` shows. */
  test(variables: Variables, claims: Claims | undefined): RuleResult {
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

/** Evaluates every rule for a request. */
export function evaluateRules(
  rules: readonly AuthorizationRule[],
  variables: Variables,
  claims: Claims | undefined,
): readonly EvaluatedRule[] {
  return rules.map((rule) => ({ rule, result: rule.test(variables, claims) }));
}

/** Such as `rule "'a' in jwt.roles" fails: field not found: roles`; for the log, so without values from the request. */
export function describeResult({ rule, result }: EvaluatedRule): string {
  const outcome = result instanceof EvaluationFailure
    ? `fails: ${result.withoutValues(rule.shown)}`
    : `is ${result}`;
  return `rule ${JSON.stringify(rule.shown)} ${outcome}`;
}
