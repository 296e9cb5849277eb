import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { withSharedSteps } from "./counting.ts";
import { EvaluationFailure } from "./evaluation_failure.ts";
import { compileExpression, Expression } from "./expression.ts";
import {
  type Ast,
  mapValue,
  parseExpression,
  timestampValue,
  toJsonValue,
  type Value,
} from "./library.ts";
import { childrenOf, pathOf } from "./paths.ts";
import { planValue } from "./plan.ts";
import { jsonValue, lazyMap } from "./values.ts";
import { isVariable, type Variables } from "./variables.ts";

const MAX_PARTS = 200;
const MAX_TEXT = 16_384;

/** A part of an expression, with its value or its error. */
export interface EvaluatedPart {
  readonly text: string;
  /** 0 for the whole. */
  readonly depth: number;
  /** As JSON; values without a JSON form are strings. */
  readonly value?: unknown;
  readonly error?: string;
}

/** The value of an expression and of its parts, outermost first; or why it cannot be evaluated. */
export type PartsResult = {
  readonly parts: readonly EvaluatedPart[];
  /** There are more parts. */
  readonly isCut: boolean;
} | {
  readonly fault: string;
  /** In UTF-16 units from the beginning. */
  readonly offset: number;
};

/**
 * Evaluates an expression and each of its parts. All of them together may take as many steps as one evaluation.
 * @param given JSON in the form of a trace: `{"request": {"headers": {…}}, "jwt": {…}}`.
 */
export function evaluateParts(text: string, given: JsonObject): PartsResult {
  if (text.length > MAX_TEXT) {
    return {
      fault: `the expression has more than ${MAX_TEXT} characters`,
      offset: 0,
    };
  }
  const compiled = compileExpression(text);
  const parsed = parseExpression(text);
  if (!(compiled instanceof Expression)) {
    return { fault: compiled.message, offset: compiled.offset };
  }
  if (!("ast" in parsed)) return { fault: parsed.message, offset: 0 };
  const variables = readVariables(given);
  if (typeof variables === "string") return { fault: variables, offset: 0 };
  const found = [...partsOf(parsed.ast, 0)];
  const parts = withSharedSteps(() =>
    found.slice(0, MAX_PARTS).map(({ part, depth }) => ({
      text: parsed.textOf(part),
      depth,
      ...describe(part, variables),
    }))
  );
  return { parts, isCut: found.length > MAX_PARTS };
}

/** Lists the parts that readers want to know: no literals, chains of fields as one, and of macros their range. */
function* partsOf(
  part: Ast,
  depth: number,
): Generator<{ readonly part: Ast; readonly depth: number }> {
  const { exprKind: kind } = part;
  const path = pathOf(part);
  if (path !== undefined) {
    // The namespace of a function is no variable.
    if (isVariable(path[0])) yield { part, depth };
    return;
  }
  if (kind.case === "constExpr") {
    if (depth === 0) yield { part, depth };
    return;
  }
  yield { part, depth };
  const inner = kind.case === "comprehensionExpr"
    ? [kind.value.iterRange]
    : childrenOf(part);
  for (const each of inner) {
    if (each !== undefined) yield* partsOf(each, depth + 1);
  }
}

function describe(
  part: Ast,
  variables: Variables,
): Pick<EvaluatedPart, "value" | "error"> {
  const value = planValue(part)(variables);
  if (value instanceof EvaluationFailure) return { error: value.message };
  try {
    return { value: toJsonValue(value) };
  } catch {
    // A time or a duration.
    const text = planValue(asText(part))(variables);
    return { value: typeof text === "string" ? text : typeof value };
  }
}

function asText(part: Ast): Ast {
  return {
    ...part,
    exprKind: {
      case: "callExpr",
      value: {
        $typeName: "cel.expr.Expr.Call",
        function: "string",
        args: [part],
      },
    },
  };
}

/** Converts JSON to variables; returns why it cannot be converted. */
function readVariables(given: JsonObject): Variables | string {
  const variables: Record<string, Value> = {};
  try {
    for (const [name, value] of Object.entries(given)) {
      if (!isVariable(name)) continue;
      variables[name] = isJsonObject(value) && name === "request"
        ? requestValue(value)
        : jsonValue(value);
    }
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
  return variables;
}

/** Converts a request as an expression sees it: header names match in any case, and there is a time. */
function requestValue(request: JsonObject): Value {
  const fields = new Map<string, Value>();
  for (const [name, value] of Object.entries(request)) {
    fields.set(name, jsonValue(value));
  }
  const { headers, startTime } = request;
  if (isJsonObject(headers)) {
    const byName = new Map(
      Object.entries(headers).map((
        [name, value],
      ) => [name.toLowerCase(), jsonValue(value)]),
    );
    fields.set(
      "headers",
      lazyMap(() => byName.keys(), (name) => byName.get(name.toLowerCase())),
    );
  }
  const time = Date.parse(String(startTime));
  if (Number.isFinite(time)) fields.set("startTime", timestampValue(time));
  return mapValue(fields);
}
