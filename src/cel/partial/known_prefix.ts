import type { Ast } from "../library.ts";
import { type FieldPath, pathOf, visitParts } from "../paths.ts";
import { prefixFunctionName } from "./prefix_functions.ts";

/**
 * Replaces comparisons of a field of which only the beginning is known: `startsWith`, `==` and `in` may be decided by that.
 * @returns The operands that hold the beginning; all other uses of the field need the whole.
 */
export function comparePrefixes(ast: Ast, field: FieldPath): ReadonlySet<Ast> {
  const operands = new Set<Ast>();
  visitParts(ast, new Set(), (part, local) => {
    if (part.exprKind.case !== "callExpr") return true;
    const call = part.exprKind.value;
    const [left, right] = call.target === undefined
      ? call.args
      : [call.target, ...call.args];
    const isField = (operand: Ast | undefined): operand is Ast =>
      !local.has(field[0]) && pathOf(operand)?.join() === field.join();
    const isEqual = call.function === "_==_";
    const [known, other] = isEqual && isField(right)
      ? [right, left]
      : [left, right];
    if (!isField(known) || other === undefined) return true;
    if (!isEqual && call.function !== "@in" && call.function !== "startsWith") {
      return true;
    }
    call.function = prefixFunctionName(call.function);
    delete call.target;
    call.args = [known, other];
    operands.add(known);
    return true;
  });
  return operands;
}
