import type { Hide } from "../../base/redaction.ts";
import { EvaluationFailure } from "../../cel/evaluation_failure.ts";
import type { Expression } from "../../cel/expression.ts";
import type { Variables } from "../../cel/variables.ts";
import { type BodyUse, bodyUseOf } from "../expressions/body_variables.ts";
import { compileChecked } from "../expressions/expression_checks.ts";
import type { Claims } from "../identity.ts";

/** Result of a rule for a request; a rule that errors is neither true nor false. */
export type RuleResult = boolean | EvaluationFailure;

/** A rule and its result for a request. */
export interface EvaluatedRule {
  readonly rule: AuthorizationRule;
  readonly result: RuleResult;
}

/** One of `matchExpressions`. */
export class AuthorizationRule {
  /** Redacted text, for log and trace. */
  readonly shown: string;
  /** The scopes that it requires; `undefined` when it requires anything else. */
  readonly requiredScopes: readonly string[] | undefined;
  readonly bodyUse: BodyUse;
  readonly #expression: Expression;
  /** Results by the claims of verified tokens, which are the same object while a token is cached. */
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

/** Describes a result without values of the request: `rule "'a' in jwt.roles" errors: field not found: roles`. */
export function describeResult({ rule, result }: EvaluatedRule): string {
  const outcome = result instanceof EvaluationFailure
    ? `errors: ${result.withoutValues(rule.shown)}`
    : `is ${result}`;
  return `rule ${JSON.stringify(rule.shown)} ${outcome}`;
}
