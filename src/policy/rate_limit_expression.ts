import { compileExpression, Expression } from "../cel/expression.ts";
import { EvaluationFailure } from "../cel/library.ts";
import type { Variables } from "../cel/variables.ts";
import type { RequestIdentity } from "./request_identity.ts";

/** What an expression of a limit says of a request; results that depend on claims alone are remembered with them. */
export class LimitExpression<T extends string | boolean> {
  readonly readsMcp: boolean;
  readonly #expression: Expression;
  readonly #toResult: (value: unknown) => T;
  /** Verified claims stay the same object as long as the token is remembered. */
  readonly #byClaims: WeakMap<object, T> | undefined;

  constructor(expression: Expression, toResult: (value: unknown) => T) {
    this.readsMcp = expression.variables.has("mcp");
    this.#expression = expression;
    this.#toResult = toResult;
    this.#byClaims = expression.readsOnlyClaims ? new WeakMap() : undefined;
  }

  /** @param claims Those that `variables.jwt` shows. */
  read(variables: Variables, claims: RequestIdentity["jwt"]): T {
    if (this.#byClaims === undefined || claims === undefined) {
      return this.#toResult(this.#expression.evaluate(variables));
    }
    let result = this.#byClaims.get(claims);
    if (result === undefined) {
      result = this.#toResult(this.#expression.evaluate(variables));
      this.#byClaims.set(claims, result);
    }
    return result;
  }
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

/** Whether the expression reads the body of the request. */
export function readsMcp(text: string | undefined): boolean {
  return text !== undefined && compile(text).variables.has("mcp");
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
