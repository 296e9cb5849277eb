import { describeError } from "../base/errors.ts";
import type { JsonShape } from "../base/json_shape.ts";
import { checkNames, type Usage } from "./check.ts";
import { environment } from "./environment.ts";
import { EvaluationFailure } from "./evaluation_failure.ts";
import {
  type Ast,
  type Environment,
  parseExpression,
  type Value,
} from "./library.ts";
import { findMistake } from "./mistakes.ts";
import { membershipsOf } from "./membership.ts";
import { type FieldPath, fieldPathsOf, shapeAt } from "./paths.ts";
import { type ResultType, resultTypeOf, typeName } from "./result_type.ts";
import type { FieldName, VariableName, Variables } from "./variables.ts";

/** Why a text is not an expression that the gateway can evaluate. */
export interface ExpressionFault {
  /** Such as `unknown variable "jtw" at column 1`. */
  readonly message: string;
  /** Where in the text, in UTF-16 units from its beginning. */
  readonly offset: number;
  /** A name that is not known and those that are, when that is what is wrong. */
  readonly unknown?: {
    readonly name: string;
    readonly candidates: readonly string[];
  };
}

/** An expression, compiled once and evaluated for every request. */
export class Expression {
  /** The text by which people know it, in log, trace and metrics; something in it may be hidden. */
  readonly shown: string;
  /** The variables that it reads, if it gets to them. */
  readonly variables: ReadonlySet<VariableName>;
  readonly #fields: ReadonlySet<FieldName>;
  readonly #paths: readonly FieldPath[];
  readonly #ast: Ast;
  readonly #evaluate: ReturnType<Environment["plan"]>;

  constructor(shown: string, ast: Ast, { variables, fields }: Usage) {
    this.shown = shown;
    this.variables = variables;
    this.#fields = fields;
    this.#ast = ast;
    this.#paths = fieldPathsOf(ast);
    this.#evaluate = environment().plan(ast);
  }

  /** Whether the result is the same for every request. */
  get isConstant(): boolean {
    return this.variables.size === 0;
  }

  /** Whether it reads that field, by its name: `toJson(request)` names none. */
  reads(field: FieldName): boolean {
    return this.#fields.has(field);
  }

  /** Returns what it reads of a field, such as `{ "path": "whole" }` of the arguments of a tool; `undefined` when it reads nothing. */
  shapeAt(field: FieldPath): JsonShape | undefined {
    return shapeAt(this.#paths, field);
  }

  /** The type of its values; `undefined` when that depends on the request. */
  get resultType(): ResultType | undefined {
    return resultTypeOf(this.#ast);
  }

  /** Whether the same claims always give the same result. */
  get readsOnlyClaims(): boolean {
    return this.variables.size === 1 && this.variables.has("jwt");
  }

  /** The value, or why there is none. Never throws. */
  evaluate(variables: Variables): unknown | EvaluationFailure {
    try {
      const bindings: Record<string, Value> = {};
      for (const name of this.variables) {
        const value = variables[name];
        if (value !== undefined) bindings[name] = value;
      }
      return this.#evaluate(bindings);
    } catch (error) {
      return new EvaluationFailure(describeError(error));
    }
  }

  /** Whether it holds; anything but a boolean is a failure. Never throws. */
  test(variables: Variables): boolean | EvaluationFailure {
    const value = this.evaluate(variables);
    if (typeof value === "boolean" || value instanceof EvaluationFailure) {
      return value;
    }
    return new EvaluationFailure(
      `expected a boolean, got a ${typeName(value)}`,
    );
  }

  /**
   * The OAuth scopes without which the expression cannot hold, when that is all it asks for: `["a"]` for
   * `'a' in jwt.scope.split(' ')`. `undefined` when it asks for anything else.
   */
  get requiredScopes(): readonly string[] | undefined {
    const memberships = membershipsOf(this.#ast);
    const isScopes = memberships?.every(({ claim }) => scopeClaims.has(claim));
    return isScopes ? memberships?.map(({ member }) => member) : undefined;
  }
}

/** Claims that hold OAuth scopes: RFC 8693 section 4.2, and what providers call it. */
const scopeClaims: ReadonlySet<string> = new Set(["scope", "scp", "scopes"]);

/**
 * Compiles an expression, or says what is wrong with it.
 * @param shown The text by which people are to know it, where that is another.
 */
export function compileExpression(
  text: string,
  shown = text,
): Expression | ExpressionFault {
  const parsed = parseExpression(text);
  if (!("ast" in parsed)) return fault(text, findMistake(text) ?? parsed);
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
  return new Expression(shown, parsed.ast, usage);
}

function fault(
  text: string,
  { message, offset, remedy = "" }: {
    readonly message: string;
    readonly offset: number;
    readonly remedy?: string;
  },
): ExpressionFault {
  const before = text.slice(0, offset).split("\n");
  const column = (before.at(-1) ?? "").length + 1;
  const place = before.length === 1
    ? `column ${column}`
    : `line ${before.length}, column ${column}`;
  const advice = remedy === "" ? "" : `; ${remedy}`;
  return { message: `${message} at ${place}${advice}`, offset };
}
