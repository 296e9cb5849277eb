import type { JsonShape } from "../../base/json/json_shape.ts";
import { findTypeMistake } from "./check_types.ts";
import { checkNames, type Usage } from "./check.ts";
import type { EvaluationFailure } from "./evaluation_failure.ts";
import { type Ast, parseExpression } from "./library.ts";
import { findMistake, findUnclosed } from "./mistakes.ts";
import {
  asCondition,
  type IsUnknownInput,
  type PartialResult,
  planPartially,
  planValue,
} from "./plan.ts";
import { type ScopeCondition, scopeConditionOf } from "./scope_condition.ts";
import {
  type FieldPath,
  type FieldRead,
  fieldReadsOf,
  shapeAt,
} from "./paths.ts";
import { planReads, type ReadValue } from "./read_values.ts";
import { type ResultType, resultTypeOf } from "./result_type.ts";
import type { FieldName, VariableName, Variables } from "./variables.ts";

/** The fault of an expression that the gateway cannot evaluate. */
export interface ExpressionFault {
  /** Such as `unknown variable "jtw" at column 1`. */
  readonly message: string;
  /** Position in the text, in UTF-16 units from its beginning. */
  readonly offset: number;
  /** The unknown name and the known ones, if the fault is an unknown name. */
  readonly unknown?: {
    readonly name: string;
    readonly candidates: readonly string[];
  };
}

/** An expression, compiled once and evaluated for every request. */
export class Expression {
  /** Redacted text, for log, trace and metrics. */
  readonly shown: string;
  /** Variables that it may read. */
  readonly variables: ReadonlySet<VariableName>;
  readonly #fields: ReadonlySet<FieldName>;
  readonly #reads: readonly FieldRead[];
  readonly #ast: Ast;
  readonly #evaluate: (variables: Variables) => unknown;
  #readFields: ((variables: Variables) => readonly ReadValue[]) | undefined;

  constructor(shown: string, ast: Ast, { variables, fields }: Usage) {
    this.shown = shown;
    this.variables = variables;
    this.#fields = fields;
    this.#ast = ast;
    this.#reads = fieldReadsOf(ast);
    this.#evaluate = planValue(ast, this.#reads);
  }

  /** True if the result is the same for every request. */
  get isConstant(): boolean {
    return this.variables.size === 0;
  }

  /** Returns whether it reads a field by name; `toJson(request)` names no field. */
  reads(field: FieldName): boolean {
    return this.#fields.has(field);
  }

  /** Fields that it reads, each in full. */
  get fieldPaths(): readonly FieldPath[] {
    return this.#reads.map(({ path }) => path);
  }

  /** Returns whether it reads fields of a variable, without asking whether one is there. */
  needs(variable: string): boolean {
    const reads = this.#reads.filter(({ path }) => path[0] === variable);
    return reads.length > 0 && !reads.some(({ isPresence }) => isPresence);
  }

  /** Returns the parts that it reads of a field, such as `{ "path": "whole" }` of tool arguments; `undefined` when it reads nothing. */
  shapeAt(field: FieldPath): JsonShape | undefined {
    return shapeAt(this.#reads, field);
  }

  /** Type of its values; `undefined` when that depends on the request. */
  get resultType(): ResultType | undefined {
    return resultTypeOf(this.#ast);
  }

  /** True if the result depends only on the claims. */
  get readsOnlyClaims(): boolean {
    return this.variables.size === 1 && this.variables.has("jwt");
  }

  /** Returns the value, or the error. Never throws. */
  evaluate(variables: Variables): unknown | EvaluationFailure {
    return this.#evaluate(variables);
  }

  /** Returns the value; anything but a boolean is an error. Never throws. */
  test(variables: Variables): boolean | EvaluationFailure {
    return asCondition(this.#evaluate(variables));
  }

  /** Returns the values of the fields that it reads, to explain its result. Never throws. */
  fieldValues(variables: Variables): readonly ReadValue[] {
    return (this.#readFields ??= planReads(this.#ast))(variables);
  }

  /** Plans it as a condition some of whose inputs are not known. */
  planPartially(
    isUnknownInput: IsUnknownInput,
    prefixField?: FieldPath,
  ): (variables: Variables) => PartialResult {
    return planPartially(this.#ast, isUnknownInput, prefixField);
  }

  /** Returns it as a condition on the scopes of the token; `undefined` when it reads none. */
  scopeCondition(): ScopeCondition | undefined {
    return scopeConditionOf(this.#ast);
  }
}

/**
 * Compiles an expression; returns a fault if it is invalid.
 * @param shown Redacted text; the text itself by default.
 */
export function compileExpression(
  text: string,
  shown = text,
): Expression | ExpressionFault {
  const parsed = parseExpression(text);
  if (!("ast" in parsed)) {
    const unclosed = parsed.message.startsWith("unexpected")
      ? findUnclosed(text)
      : undefined;
    return fault(text, findMistake(text) ?? unclosed ?? parsed);
  }
  const usage = checkNames(parsed);
  if (usage.unknown !== undefined) {
    const mistake = findMistake(text);
    if (mistake !== undefined) return fault(text, mistake);
    const { message, offset, name, candidates } = usage.unknown;
    return {
      ...fault(text, { message, offset }),
      unknown: { name, candidates },
    };
  }
  const mistake = findTypeMistake(parsed);
  return mistake === undefined
    ? new Expression(shown, parsed.ast, usage)
    : fault(text, mistake);
}

function fault(
  text: string,
  { message, offset, remedy = "" }: {
    readonly message: string;
    readonly offset: number;
    readonly remedy?: string;
  },
): ExpressionFault {
  // The parser places an operator at the space before it.
  const space = /^\s*/.exec(text.slice(offset))?.[0].length ?? 0;
  const at = offset + space;
  const before = text.slice(0, at).split("\n");
  const column = (before.at(-1) ?? "").length + 1;
  const place = before.length === 1
    ? `column ${column}`
    : `line ${before.length}, column ${column}`;
  const advice = remedy === "" ? "" : `; ${remedy}`;
  return { message: `${message} at ${place}${advice}`, offset: at };
}
