import { compileExpression, Expression } from "../cel/expression.ts";
import type { VariableName, Variables } from "../cel/variables.ts";
import { type BodyUse, bodyUseOf } from "./body_variables.ts";
import type { PolicyContext } from "./policy.ts";

/** What an expression of a limit says of a request. */
export class LimitExpression<T extends string | boolean | undefined> {
  readonly bodyUse: BodyUse;
  readonly #expression: Expression;
  readonly #toResult: (value: unknown) => T;
  readonly #subjectOf: SubjectOf | undefined;
  readonly #bySubject = new WeakMap<object, T>();

  constructor(expression: Expression, toResult: (value: unknown) => T) {
    this.bodyUse = bodyUseOf(expression.variables);
    this.#expression = expression;
    this.#toResult = toResult;
    this.#subjectOf = subjectOf(expression);
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

/** What the result of an expression can be remembered with. */
function subjectOf(expression: Expression): SubjectOf | undefined {
  const [variable, ...others] = expression.variables;
  if (variable === undefined) return () => expression;
  return others.length === 0 ? subjects[variable] : undefined;
}

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

/** The value of a descriptor's entry; `undefined` when there is none. */
export function compileValue(
  text: string,
): LimitExpression<string | undefined> {
  return new LimitExpression(compile(text), textOf);
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
