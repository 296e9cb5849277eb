import type { Log } from "../../base/log.ts";
import { type Hide, REDACTION_MARKER } from "../../base/redaction.ts";
import { EvaluationFailure } from "../../cel/evaluation_failure.ts";
import type { Expression } from "../../cel/expression.ts";
import type { VariableName, Variables } from "../../cel/variables.ts";
import {
  apiKeyMetadata,
  jwtClaims,
} from "../authentication/request_identity.ts";
import { type BodyUse, bodyUseOf } from "../expressions/body_variables.ts";
import { compileChecked } from "../expressions/expression_checks.ts";
import { noteFailedExpression } from "../expressions/expression_slots.ts";
import type { PolicyContext } from "../policy.ts";

/** Use of the value of an expression by a limit. */
interface LimitExpressionOptions<T> {
  /** `undefined` for a value that the limit cannot use. */
  readonly accept: (value: unknown) => T | undefined;
  /** Such as `a boolean`. */
  readonly expected: string;
  /** Replaces a value that cannot be used. */
  readonly fallback: T;
  /** Consequence for the request, for the log. */
  readonly consequence: string;
  /** Whether this is usual, so that the log has no warning. */
  readonly isUsual: boolean;
}

/** Dependencies of the expressions of limits. */
export interface LimitDependencies {
  readonly log: Log;
  readonly hide: Hide;
}

/** Evaluates an expression of a limit. Log and trace report why a value cannot be used. */
export class LimitExpression<T extends string | boolean | undefined> {
  readonly bodyUse: BodyUse;
  readonly #expression: Expression;
  readonly #surroundings: LimitDependencies;
  readonly #options: LimitExpressionOptions<T>;
  readonly #subjectOf: SubjectOf | undefined;
  readonly #bySubject = new WeakMap<object, T>();
  /** Whether traces may show its value. */
  readonly #isOpen: boolean;
  #hasWarned: boolean;

  /** @throws {TypeError} For a text that `checkRateLimit` finds a problem in. */
  constructor(
    text: string,
    surroundings: LimitDependencies,
    options: LimitExpressionOptions<T>,
  ) {
    const expression = compileChecked(text, surroundings.hide);
    this.bodyUse = bodyUseOf(expression);
    this.#expression = expression;
    this.#surroundings = surroundings;
    this.#options = options;
    this.#subjectOf = subjectOf(expression);
    this.#isOpen = isOpen(expression);
    this.#hasWarned = options.isUsual;
  }

  /** @param variables Those of `context`. */
  read(variables: Variables, context: PolicyContext): T {
    const isWatched = context.trace !== undefined;
    const subject = isWatched ? undefined : this.#subjectOf?.(context);
    const known = subject && this.#bySubject.get(subject);
    if (known !== undefined) return known;
    const value = this.#expression.evaluate(variables);
    const usable = this.#options.accept(value);
    // Not remembered: each request that it fails for is told and counted.
    if (usable === undefined) return this.#fallBack(value, context);
    if (subject !== undefined) this.#bySubject.set(subject, usable);
    context.trace?.evaluated(this.#expression.shown, this.#show(usable));
    return usable;
  }

  #show(value: string | boolean): string | boolean {
    if (typeof value === "boolean") return value;
    return this.#isOpen ? this.#surroundings.hide(value) : REDACTION_MARKER;
  }

  #fallBack(value: unknown, context: PolicyContext): T {
    noteFailedExpression(context, "rateLimit");
    const { trace, requestId } = context;
    const { shown } = this.#expression;
    const { expected, fallback, consequence } = this.#options;
    const { log } = this.#surroundings;
    const error = value instanceof EvaluationFailure
      ? value.withoutValues(shown)
      : `expected ${expected}`;
    trace?.evaluated(shown, { error });
    // Whoever wrote the expression should hear of it; one line is enough.
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

/** Fields of a request that may hold secrets, of which an expression may cut a part that nobody knows again. */
const secretFields = ["headers", "uri", "pathAndQuery", "body"] as const;
const openFields = ["method", "host", "scheme", "path", "version"] as const;

/** Reports whether the value of an expression cannot hold a secret. Claims are shown as they are: they are no credentials. */
function isOpen(expression: Expression): boolean {
  const reads = (field: string) => expression.reads(`request.${field}`);
  return !expression.variables.has("request") ||
    openFields.some(reads) && !secretFields.some(reads);
}

type SubjectOf = (context: PolicyContext) => object | undefined;

/**
 * By variable: the object whose fields it shows, where that stays the same for many requests: claims as long as the token is
 * remembered, a key as long as the configuration, an address as long as the connection. What an expression makes of it alone is
 * remembered with it.
 */
const subjects: { readonly [name in VariableName]?: SubjectOf } = {
  jwt: ({ slots }) => slots.get(jwtClaims),
  apiKey: ({ slots }) => slots.get(apiKeyMetadata),
  source: ({ request }) => request.source,
};

/** Returns the object that the result of an expression can be cached with. */
function subjectOf(expression: Expression): SubjectOf | undefined {
  const [variable, ...others] = expression.variables;
  if (variable === undefined) return () => expression;
  return others.length === 0 ? subjects[variable] : undefined;
}

/**
 * Whose budget a request counts against. Where the expression has no value, as `jwt.sub` without a token, it is that of `""`, which
 * all such requests share: nobody gets around a limit by leaving something out.
 */
export function compileKey(
  text: string,
  surroundings: LimitDependencies,
): LimitExpression<string> {
  return new LimitExpression(text, surroundings, {
    ...asText,
    fallback: "",
    consequence:
      "A request has no key for a limit and shares the budget of those without",
    isUsual: true,
  });
}

/** Compiles the condition of a limit. A limit applies when its condition cannot be evaluated or is no boolean. */
export function compileCondition(
  text: string,
  surroundings: LimitDependencies,
): LimitExpression<boolean> {
  return new LimitExpression(text, surroundings, {
    accept: (value) => typeof value === "boolean" ? value : undefined,
    expected: "a boolean",
    fallback: true,
    consequence: "A limit applies because its condition has no value",
    isUsual: false,
  });
}

/** The value of a descriptor's entry; `undefined` when there is none. */
export function compileValue(
  text: string,
  surroundings: LimitDependencies,
): LimitExpression<string | undefined> {
  return new LimitExpression<string | undefined>(text, surroundings, {
    ...asText,
    fallback: undefined,
    consequence: "A global limit has no value for an entry",
    isUsual: false,
  });
}

const asText = {
  accept: textOf,
  expected: "a text, a number or a boolean",
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
