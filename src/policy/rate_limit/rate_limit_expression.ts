import type { Log } from "../../base/log/log.ts";
import {
  type Hide,
  REDACTION_MARKER,
  type SensitiveHeaders,
} from "../../base/redaction.ts";
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import type { Expression } from "../cel/expression.ts";
import type { VariableName, Variables } from "../cel/variables.ts";
import {
  apiKeyMetadata,
  jwtClaims,
} from "../authentication/request_identity.ts";
import { type BodyUse, bodyUseOf } from "../expressions/body_variables.ts";
import { compileChecked } from "../expressions/expression_checks.ts";
import { noteFailedExpression } from "../expressions/expression_slots.ts";
import { isSecretField } from "../expressions/secret_fields.ts";
import type { PolicyContext } from "../contract/policy.ts";

/** Rules for the value of a limit's expression. */
interface LimitExpressionOptions<T> {
  /** Converts a value; `undefined` if the limit cannot use it. */
  readonly accept: (value: unknown) => T | undefined;
  /** Such as `a boolean`. */
  readonly expected: string;
  /** Value in place of an unusable one. */
  readonly fallback: T;
  /** Consequence for the request, for the log. */
  readonly consequence: string;
  /** True if unusable values are expected, so that the log has no warning. */
  readonly isExpected: boolean;
}

/** Dependencies of the expressions of limits. */
export interface LimitDependencies {
  readonly log: Log;
  readonly hide: Hide;
  readonly sensitiveHeaders: SensitiveHeaders;
}

/** Evaluates an expression of a limit. Log and trace report why a value cannot be used. */
export class LimitExpression<T extends string | number | boolean | undefined> {
  readonly bodyUse: BodyUse;
  /** True if the value is the same for all requests. */
  readonly isConstant: boolean;
  readonly #expression: Expression;
  readonly #dependencies: LimitDependencies;
  readonly #options: LimitExpressionOptions<T>;
  readonly #subjectOf: SubjectOf | undefined;
  readonly #bySubject = new WeakMap<object, T>();
  /** True if traces may show its value. */
  readonly #isOpen: boolean;
  #hasWarned: boolean;

  /** @throws {TypeError} If `checkRateLimit` finds a problem in the expression. */
  constructor(
    text: string,
    dependencies: LimitDependencies,
    options: LimitExpressionOptions<T>,
  ) {
    const expression = compileChecked(text, dependencies.hide);
    this.bodyUse = bodyUseOf(expression);
    this.isConstant = expression.isConstant;
    this.#expression = expression;
    this.#dependencies = dependencies;
    this.#options = options;
    this.#subjectOf = subjectOf(expression);
    this.#isOpen = isOpen(expression, dependencies.sensitiveHeaders);
    this.#hasWarned = options.isExpected;
  }

  /** @param variables Those of `context`. */
  read(variables: Variables, context: PolicyContext): T {
    const isWatched = context.trace !== undefined;
    const subject = isWatched ? undefined : this.#subjectOf?.(context);
    const known = subject && this.#bySubject.get(subject);
    if (known !== undefined) return known;
    const value = this.#expression.evaluate(variables);
    const usable = this.#options.accept(value);
    // Errors are not cached: each one is logged and counted.
    if (usable === undefined) return this.#fallBack(value, context);
    if (subject !== undefined) this.#bySubject.set(subject, usable);
    context.trace?.evaluated(this.#expression.shown, this.#show(usable));
    return usable;
  }

  /** Returns its value for a request as people may see it, `""` without one: `anna`, or the marker for what may be a secret. */
  shownValue(variables: Variables): string {
    const value = this.#options.accept(this.#expression.evaluate(variables));
    return value === undefined ? "" : String(this.#show(value));
  }

  #show(value: string | number | boolean): string | number | boolean {
    if (typeof value !== "string") return value;
    return this.#isOpen ? this.#dependencies.hide(value) : REDACTION_MARKER;
  }

  #fallBack(value: unknown, context: PolicyContext): T {
    noteFailedExpression(context, "rateLimit");
    const { trace, requestId } = context;
    const { shown } = this.#expression;
    const { expected, fallback, consequence } = this.#options;
    const { log } = this.#dependencies;
    const error = value instanceof EvaluationFailure
      ? value.withoutValues(shown)
      : `expected ${expected}`;
    trace?.evaluated(shown, { error });
    // One warning per expression is enough for its author.
    const level = this.#hasWarned ? "debug" : "warn";
    this.#hasWarned = true;
    if (!log.isEnabled(level)) return fallback;
    log[level](consequence, {
      "request.id": requestId,
      expression: shown,
      error,
    });
    return fallback;
  }
}

/** Fields that may hold secrets beside other things. An expression may extract a part of one, which redaction could not recognize. */
const mixedFields: ReadonlySet<string> = new Set([
  "request",
  "request.headers",
  "request.uri",
  "request.pathAndQuery",
  "request.body",
]);

/** Returns whether the value of an expression cannot hold a secret. Claims are not credentials. */
function isOpen(
  { fieldPaths }: Expression,
  sensitiveHeaders: SensitiveHeaders,
): boolean {
  return fieldPaths.every((path) =>
    !isSecretField(path, sensitiveHeaders) &&
    !mixedFields.has(path.join(".")) &&
    !(path[0] === "request" && path[1] === "body")
  );
}

type SubjectOf = (context: PolicyContext) => object | undefined;

/**
 * Objects behind variables, if they stay the same for many requests: claims while the token is cached, a key for the lifetime of
 * the configuration, an address for that of the connection. Results of expressions over one such variable are cached with it.
 */
const subjects: { readonly [name in VariableName]?: SubjectOf } = {
  jwt: ({ slots }) => slots.get(jwtClaims),
  apiKey: ({ slots }) => slots.get(apiKeyMetadata),
  source: ({ client }) => client,
};

/** Returns the object that the result of an expression can be cached with. */
function subjectOf(expression: Expression): SubjectOf | undefined {
  const [variable, ...others] = expression.variables;
  if (variable === undefined) return () => expression;
  return others.length === 0 ? subjects[variable] : undefined;
}

/**
 * Compiles the key of a limit. Requests for which the expression has no value, such as `jwt.sub` without a token, share the budget
 * of `""`: leaving something out does not evade a limit.
 */
export function compileKey(
  text: string,
  dependencies: LimitDependencies,
): LimitExpression<string> {
  return new LimitExpression(text, dependencies, {
    ...asText,
    fallback: "",
    consequence:
      "A request has no key for a limit and shares the budget of those without",
    isExpected: true,
  });
}

/** Compiles the condition of a limit. A limit applies when its condition cannot be evaluated or is no boolean. */
export function compileCondition(
  text: string,
  dependencies: LimitDependencies,
): LimitExpression<boolean> {
  return new LimitExpression(text, dependencies, {
    accept: (value) => typeof value === "boolean" ? value : undefined,
    expected: "a boolean",
    fallback: true,
    consequence: "A limit applies because its condition has no value",
    isExpected: false,
  });
}

/**
 * Compiles the weight of a request. One that has none takes all: leaving something out does not make it cheap.
 * @param capacity Requests of the whole budget.
 */
export function compileWeight(
  text: string,
  capacity: number,
  dependencies: LimitDependencies,
): LimitExpression<number> {
  return new LimitExpression(text, dependencies, {
    accept: (value) => {
      const weight = Number(value);
      const isNumber = typeof value === "bigint" || typeof value === "number";
      return isNumber && Number.isSafeInteger(weight) && weight >= 0
        ? weight
        : undefined;
    },
    expected: "a whole number of 0 or more",
    fallback: capacity,
    consequence:
      "A request counts as the whole budget of a limit because its weight has no value",
    isExpected: false,
  });
}

/** Compiles the value of a descriptor's entry, which is `undefined` when the expression has none. */
export function compileValue(
  text: string,
  dependencies: LimitDependencies,
): LimitExpression<string | undefined> {
  return new LimitExpression<string | undefined>(text, dependencies, {
    ...asText,
    fallback: undefined,
    consequence: "A global limit has no value for an entry",
    isExpected: false,
  });
}

const asText = {
  accept: textOf,
  expected: "a string, a number or a boolean",
};

function textOf(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return value;
    case "bigint":
    case "number":
    case "boolean":
      return String(value);
    default:
      return undefined;
  }
}
