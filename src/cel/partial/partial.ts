import type { EvaluationFailure } from "../evaluation_failure.ts";
import type { Ast } from "../library.ts";
import { type FieldPath, visitFields } from "../paths.ts";
import { planCondition } from "../plan.ts";
import { comparePrefixes } from "./known_prefix.ts";
import { type UNKNOWN, UNKNOWN_FUNCTION } from "./unknown.ts";
import { isVariable, type Variables } from "../variables.ts";

/** Selects the inputs of an expression that are not known, by the field that it reads. */
export type IsUnknownInput = (
  path: FieldPath,
  /** Only the existence of the field is read: `has(mcp.tool)`. */
  isPresenceTest: boolean,
) => boolean;

/** Selects a field with everything in it. A value around the field is unknown too; whether it exists is known. */
export function unknownField(field: FieldPath): IsUnknownInput {
  return (path, isPresenceTest) => {
    const common = Math.min(path.length, field.length);
    return field.slice(0, common).every((name, i) => name === path[i]) &&
      (!isPresenceTest || path.length >= field.length);
  };
}

/** Three-valued result of a condition: `UNKNOWN` when it depends on unknown inputs. */
export type PartialResult = boolean | EvaluationFailure | typeof UNKNOWN;

/**
 * Plans a condition some of whose inputs are not known.
 *
 * The logic is that of Kleene, as in CEL: `false && unknown` is false, `true || unknown` is true, and whatever else reads an unknown
 * input is unknown. An error and an unknown operand together are unknown.
 * @param prefixField A string, unknown too, whose beginning is known: the variables have that in its place.
 */
export function planPartially(
  ast: Ast,
  isUnknownInput: IsUnknownInput,
  prefixField?: FieldPath,
): (variables: Variables) => PartialResult {
  const partial = structuredClone(ast);
  const prefixes = prefixField && comparePrefixes(partial, prefixField);
  visitFields(partial, (part, path) => {
    if (prefixes?.has(part)) return;
    const { exprKind: kind } = part;
    const isPresenceTest = kind.case === "selectExpr" && kind.value.testOnly;
    // A namespace of functions is no input.
    if (!isVariable(path[0]) || !isUnknownInput(path, isPresenceTest)) return;
    part.exprKind = {
      case: "callExpr",
      value: {
        $typeName: "cel.expr.Expr.Call",
        function: UNKNOWN_FUNCTION,
        args: [],
      },
    };
  });
  return planCondition(partial);
}
