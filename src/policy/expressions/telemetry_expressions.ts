/**
 * Expressions of the settings of spans and logs.
 *
 * @module
 */
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import { compileExpression, Expression } from "../cel/expression.ts";
import { toJsonText } from "../cel/functions.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { Attributes, AttributeValue } from "../../telemetry/spans/span.ts";
import type { PolicyContext } from "../contract/policy.ts";
import { typeProblem } from "./expression_checks.ts";
import { RequestVariables } from "./request_variables.ts";

/** Place of an expression: it decides which variables have values. */
export type ExpressionPlace = "arrival" | "end" | "claims";

/** Variables that have values when a request arrives. */
const known: ReadonlySet<string> = new Set(["request", "source", "env"]);

/** Returns why an expression cannot be used; `undefined` when it can. */
export function telemetryProblem(
  text: string,
  place: ExpressionPlace,
  types: readonly ("boolean" | "number" | "string")[],
): string | undefined {
  const compiled = compileExpression(text);
  if (!(compiled instanceof Expression)) {
    return `Cannot use the expression: ${compiled.message}`;
  }
  const body = (["request.body", "response.body"] as const).find((field) =>
    compiled.reads(field)
  );
  if (body !== undefined) {
    return `Cannot use "${body}" here: only transformations read bodies`;
  }
  const unknown = [...compiled.variables].find((name) =>
    place === "claims"
      ? name !== "jwt"
      : place === "arrival"
      ? !known.has(name)
      : name === "backend"
  );
  if (unknown !== undefined && place === "claims") {
    return `Cannot use "${unknown}" here: roles and teams depend on "jwt", the claims of the user`;
  }
  if (unknown !== undefined) {
    return place === "arrival"
      ? `Cannot use "${unknown}" here, before all policies: use "request", "source" and "env"`
      : `Cannot use "${unknown}" here: it is a field already`;
  }
  if (types.length === 0) return undefined;
  return typeProblem(compiled, [], {
    types,
    text: types.map((type) => `a ${type}`).join(" or "),
  })?.message;
}

/**
 * Compiles an expression that decides for a request that arrives: a boolean, or a chance from 0 to 1. Requests for which it errors
 * are not chosen, and neither is any by an invalid expression.
 * @param random Uniform in [0, 1).
 */
export function compileChance(
  text: string,
  random: () => number,
): (context: PolicyContext) => boolean {
  const expression = compileExpression(text);
  if (!(expression instanceof Expression)) return () => false;
  return (context) => {
    const value = expression.evaluate(new RequestVariables(context));
    if (typeof value === "boolean") return value;
    if (typeof value === "number" || typeof value === "bigint") {
      return random() < Number(value);
    }
    return false;
  };
}

/** A request that is over. */
export interface EndedRequest {
  readonly context: PolicyContext;
  readonly response: ResponseMessage | undefined;
}

/** Compiles a condition on requests that are over; those for which it errors do not match. */
export function compileEndCondition(
  text: string,
): (ended: EndedRequest) => boolean {
  const expression = compileExpression(text);
  if (!(expression instanceof Expression)) return () => false;
  return (ended) => expression.test(variablesOf(ended)) === true;
}

/** Compiles attributes of requests that are over; a request for which an expression errors does not have its attribute. */
export function compileAttributes(
  texts: Readonly<Record<string, string>>,
): (ended: EndedRequest) => Attributes {
  const compiled = Object.entries(texts).flatMap(([name, text]) => {
    const expression = compileExpression(text);
    return expression instanceof Expression
      ? [[name, expression] as const]
      : [];
  });
  return (ended) => {
    const variables = variablesOf(ended);
    const attributes: Record<string, AttributeValue> = {};
    for (const [name, expression] of compiled) {
      attributes[name] = toAttribute(expression.evaluate(variables));
    }
    return attributes;
  };
}

function variablesOf({ context, response }: EndedRequest): RequestVariables {
  return new RequestVariables(
    context,
    response === undefined ? {} : { response },
  );
}

function toAttribute(value: unknown): AttributeValue {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    case "bigint":
      return Number(value);
    default:
      if (value instanceof EvaluationFailure || value === null) {
        return undefined;
      }
      return toText(value);
  }
}

function toText(value: unknown): string | undefined {
  try {
    return toJsonText(value);
  } catch {
    // It has no JSON form, such as a timestamp.
    return String(value);
  }
}
