import type { Hide } from "../../base/redaction.ts";
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import type { Expression } from "../cel/expression.ts";
import { type PartialResult, unknownField } from "../cel/plan.ts";
import type { ScopeCondition } from "../cel/scope_condition.ts";
import type { FieldPath } from "../cel/paths.ts";
import type { ReadValue } from "../cel/read_values.ts";
import type { Variables } from "../cel/variables.ts";
import { type BodyUse, bodyUseOf } from "../expressions/body_variables.ts";
import { compileChecked } from "../expressions/expression_checks.ts";
import type { Claims } from "../contract/identity.ts";
import type { ListName, McpTargetName } from "../mcp/mcp_lists.ts";

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
  readonly bodyUse: BodyUse;
  /** The targets of messages that it is about; `mcp.server` is about all. */
  readonly targets: ReadonlySet<McpTargetName>;
  /** It is about the model of a request to an LLM. */
  readonly readsModel: boolean;
  readonly #expression: Expression;
  #scopeCondition: ScopeCondition | undefined;
  /** The test without a field of `mcp` that a list does not have; `undefined` if the rule does not read the field. */
  readonly #partial: Readonly<
    Record<"arguments" | "uri", PartialTest | undefined>
  >;
  /** Results by the claims of verified tokens, which are the same object while a token is cached. */
  readonly #decided: WeakMap<object, RuleResult> | undefined;

  constructor(text: string, hide: Hide) {
    const expression = compileChecked(text, hide);
    this.shown = expression.shown;
    this.bodyUse = bodyUseOf(expression);
    this.targets = new Set(
      targetNames.filter((name) =>
        expression.shapeAt(["mcp", name]) ??
          expression.shapeAt(["mcp", "server"])
      ),
    );
    this.readsModel = expression.shapeAt(["llm", "requestModel"]) !== undefined;
    this.#expression = expression;
    this.#partial = {
      arguments: testWithout(expression, ["mcp", "tool", "arguments"]),
      uri: testWithout(expression, ["mcp", "resource", "name"], true),
    };
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

  /** Tests with variables of another token than that of the request. */
  testAnew(variables: Variables): RuleResult {
    return this.#expression.test(variables);
  }

  /** Values of the fields that it reads, to explain its result. */
  fieldValues(variables: Variables): readonly ReadValue[] {
    return this.#expression.fieldValues(variables);
  }

  /** The rule as a condition on scopes; `undefined` when it reads none. */
  get scopeCondition(): ScopeCondition | undefined {
    return this.#scopeCondition ??= this.#expression.scopeCondition();
  }

  /**
   * Tests a request for an item of a list: `UNKNOWN` when the result depends on the arguments of the tool, or on the part of the URI
   * that a client makes of a template.
   */
  testItem(list: ListName, variables: Variables): PartialResult {
    const test = list === "tools"
      ? this.#partial.arguments
      : list === "resourceTemplates"
      ? this.#partial.uri
      : undefined;
    return test === undefined
      ? this.#expression.test(variables)
      : test(variables);
  }
}

type PartialTest = (variables: Variables) => PartialResult;

const targetNames = ["tool", "prompt", "resource"] as const;

function testWithout(
  expression: Expression,
  field: FieldPath,
  hasPrefix = false,
): PartialTest | undefined {
  return expression.shapeAt(field) === undefined
    ? undefined
    : expression.planPartially(
      unknownField(field),
      hasPrefix ? field : undefined,
    );
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
