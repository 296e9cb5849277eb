import { isPseudoHeader, type PseudoHeader } from "./transformation_schema.ts";
import { describeError } from "../../base/errors.ts";
import { latin1 } from "../../base/bytes.ts";
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import type { Expression } from "../cel/expression.ts";
import { toJsonText } from "../cel/functions.ts";
import type { Variables } from "../cel/variables.ts";
import { isFieldName, isFieldValue } from "../../http/field_syntax.ts";
import {
  isAuthority,
  isTarget,
} from "../../http/server/contract/request_target.ts";
import { normalizeTarget } from "../../route/normalize_target.ts";
import { type BodyUse, bodyUseOf } from "../expressions/body_variables.ts";
import { usageFields } from "../expressions/llm_usage.ts";

/** An expression with a conversion of its result. If it reads no variables, it is evaluated once. */
export class TransformationExpression<T extends string | Uint8Array> {
  /** Redacted text, for the trace. */
  readonly shown: string;
  readonly bodyUse: BodyUse;
  readonly readsRequestBody: boolean;
  readonly readsResponseBody: boolean;
  /** Reads what the response of an LLM used. */
  readonly readsUsage: boolean;
  /** The result; `undefined` when it depends on the request. */
  readonly constant: T | EvaluationFailure | undefined;
  readonly #expression: Expression;
  readonly #convert: (value: string | Uint8Array) => T | EvaluationFailure;

  constructor(
    expression: Expression,
    convert: (value: string | Uint8Array) => T | EvaluationFailure,
  ) {
    this.shown = expression.shown;
    this.bodyUse = bodyUseOf(expression);
    this.readsRequestBody = expression.reads("request.body");
    this.readsResponseBody = expression.reads("response.body");
    this.readsUsage = usageFields.some((field) => expression.reads(field));
    this.#expression = expression;
    this.#convert = convert;
    this.constant = expression.isConstant ? this.#evaluate({}) : undefined;
  }

  /** Returns the result, or the reason why there is none that can be sent. Never throws. */
  read(variables: Variables): T | EvaluationFailure {
    return this.constant ?? this.#evaluate(variables);
  }

  #evaluate(variables: Variables): T | EvaluationFailure {
    const value = this.#expression.evaluate(variables);
    if (value instanceof EvaluationFailure) return value;
    if (typeof value === "string" || value instanceof Uint8Array) {
      return this.#convert(value);
    }
    try {
      return this.#convert(toJsonText(value));
    } catch (error) {
      return new EvaluationFailure(describeError(error));
    }
  }
}

/**
 * Compiles the expression of a header or pseudo header.
 * @throws {TypeError} If `checkTransformation` finds a problem in it.
 */
export function compileHeader(
  name: string,
  expression: Expression,
): TransformationExpression<string> {
  const toValue = isPseudoHeader(name) ? pseudoValues[name] : toFieldValue;
  return new TransformationExpression(
    expression,
    (value) => toValue(toText(value)),
  );
}

/**
 * Compiles the expression of a body; strings are encoded as UTF-8.
 * @throws {TypeError} If `checkTransformation` finds a problem in it.
 */
export function compileBody(
  expression: Expression,
): TransformationExpression<Uint8Array> {
  return new TransformationExpression(
    expression,
    (value) => typeof value === "string" ? encoder.encode(value) : value,
  );
}

const encoder = new TextEncoder();

/** Most servers reject longer values. */
const MAX_VALUE_LENGTH = 16 * 1024;
const MAX_METHOD_LENGTH = 32;

/** Decodes header values as Latin-1, which keeps every byte. */
function toText(value: string | Uint8Array): string {
  return typeof value === "string" ? value : latin1(value);
}

/** Trims a value, and rejects one that cannot be sent: a line break would begin another header. */
function toFieldValue(value: string): string | EvaluationFailure {
  const trimmed = value.replace(/^[ \t]+|[ \t]+$/g, "");
  if (trimmed.length > MAX_VALUE_LENGTH) {
    return new EvaluationFailure(
      `the value is longer than ${MAX_VALUE_LENGTH} characters`,
    );
  }
  return isFieldValue(trimmed) ? trimmed : new EvaluationFailure(
    "the value is not allowed in a header: it has control characters, or characters outside Latin-1",
  );
}

const pseudoValues: Readonly<
  Record<PseudoHeader, (value: string) => string | EvaluationFailure>
> = {
  ":method": (value) =>
    isFieldName(value) && value.length <= MAX_METHOD_LENGTH &&
      value !== "CONNECT"
      ? value
      : new EvaluationFailure(
        "the value is not a method that can be forwarded",
      ),
  ":path": toTarget,
  ":authority": (value) =>
    isAuthority(value) ? value : new EvaluationFailure(
      "the value is not an authority: expected a name with an optional port",
    ),
  ":scheme": (value) =>
    value === "http" || value === "https" ? value : new EvaluationFailure(
      'the value is not a scheme: expected "http" or "https"',
    ),
  ":status": (value) =>
    /^[2-5][0-9]{2}$/.test(value) ? value : new EvaluationFailure(
      "the value is not a status: expected a number from 200 to 599",
    ),
};

/** Normalizes a path as those of clients, so that route matching and backends read the same. */
function toTarget(value: string): string | EvaluationFailure {
  const isPath = value.length <= MAX_VALUE_LENGTH && value !== "*" &&
    isTarget("GET", value);
  if (!isPath) {
    return new EvaluationFailure(
      'the value is not a path: expected "/" and visible ASCII, without "#"',
    );
  }
  try {
    return normalizeTarget(value);
  } catch {
    return new EvaluationFailure("the value is an ambiguous path");
  }
}
