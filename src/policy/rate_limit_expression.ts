import { compileExpression, Expression } from "../cel/expression.ts";
import { EvaluationFailure } from "../cel/library.ts";
import type { VariableName, Variables } from "../cel/variables.ts";
import { type BodyUse, bodyUseOf } from "./body_variables.ts";
import type { PolicyContext } from "./policy.ts";

/** What an expression of a limit says of a request. */
export class LimitExpression<T extends string | boolean> {
  readonly bodyUse: BodyUse;
  readonly #expression: Expression;
  readonly #toResult: (value: unknown) => T;
  readonly #subjectOf: SubjectOf | undefined;
  readonly #bySubject = new WeakMap<object, T>();

  constructor(expression: Expression, toResult: (value: unknown) => T) {
    const [variable, ...others] = expression.variables;
    this.bodyUse = bodyUseOf(expression.variables);
    this.#expression = expression;
    this.#toResult = toResult;
    this.#subjectOf = variable !== undefined && others.length === 0
      ? subjects[variable]
      : undefined;
  }

  /** @param variables Those of `context`. */
  read(variables: Variables, context: PolicyContext): T {
    const subject = this.#subjectOf?.(context);
    if (subject === undefined) {
      return this.#toResult(this.#expression.evaluate(variables));
    }
    let result = this.#bySubject.get(subject);
    if (result === undefined) {
      result = this.#toResult(this.#expression.evaluate(variables));
      this.#bySubject.set(subject, result);
    }
    return result;
  }
}

type SubjectOf = (context: PolicyContext) => object | undefined;

/**
 * By variable: the object whose fields it shows, where that stays the same for many requests: claims as long as the token is
 * remembered, a key as long as the configuration, an address as long as the connection. What an expression makes of it alone is
 * remembered with it.
 */
const subjects: { readonly [name in VariableName]?: SubjectOf } = {
  jwt: ({ identity }) => identity.jwt,
  apiKey: ({ identity }) => identity.apiKey,
  source: ({ request }) => request.source,
};

/**
 * Whose budget a request counts against. Where the expression has no value, as `jwt.sub` without a token, it is that of `""`, which
 * all such requests share: nobody gets around a limit by leaving something out.
 */
export function compileKey(text: string): LimitExpression<string> {
  return new LimitExpression(compile(text), (value) => textOf(value) ?? "");
}

/** Whether a limit applies; it does when the expression fails or is no boolean. */
export function compileCondition(text: string): LimitExpression<boolean> {
  return new LimitExpression(compile(text), (value) => value !== false);
}

/** The value of a descriptor's entry; an `EvaluationFailure` when there is none. */
export function compileValue(
  text: string,
): (variables: Variables) => string | EvaluationFailure {
  const expression = compile(text);
  return (variables) => {
    const value = expression.evaluate(variables);
    if (value instanceof EvaluationFailure) return value;
    return textOf(value) ??
      new EvaluationFailure("expected a text, a number or a boolean");
  };
}

/** What an expression reads of the body. */
export function bodyUseOfText(text: string | undefined): BodyUse | undefined {
  return text === undefined ? undefined : bodyUseOf(compile(text).variables);
}

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

/** @throws {TypeError} For a text with problems, which `checkRateLimit` has reported. */
function compile(text: string): Expression {
  const compiled = compileExpression(text);
  if (compiled instanceof Expression) return compiled;
  throw new TypeError(compiled.message);
}
