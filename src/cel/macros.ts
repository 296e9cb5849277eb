/** Wraps the range of a macro. */
export const RANGE_FUNCTION = "@range";
/** Appends an item to the list that a macro builds. */
export const APPEND_FUNCTION = "@append";

/** Nodes of the library's syntax tree for macros. */
interface Expression {
  readonly exprKind: Kind;
}
type Kind = Macro | Call | Identifier | List;
interface Macro {
  readonly case: "comprehensionExpr";
  readonly value: { iterRange?: Expression };
}
interface Call {
  readonly case: "callExpr";
  readonly value: {
    readonly $typeName: "cel.expr.Expr.Call";
    function: string;
    args: Expression[];
  };
}
interface Identifier {
  readonly case: "identExpr";
  readonly value: { readonly name: string };
}
interface List {
  readonly case: "listExpr";
  readonly value: { readonly elements: Expression[] };
}

/**
 * Rewrites an expression so that macros can be counted: `list.all(…)` iterates over `@range(list)`, and `map` and `filter` use
 * `@append`. The original `+` nests lists, which take quadratic time to read.
 */
export function withCountedMacros<Ast>(ast: Ast): Ast {
  const copy = structuredClone(ast);
  rewrite(copy);
  return copy;
}

function rewrite(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if (node instanceof Uint8Array) return;
  for (const child of Object.values(node)) rewrite(child);
  if (isMacro(node)) countItems(node.value);
  else if (isCall(node)) appendItem(node.value);
}

function isMacro(node: object): node is Macro {
  return "case" in node && node.case === "comprehensionExpr";
}

function isCall(node: object): node is Call {
  return "case" in node && node.case === "callExpr";
}

function countItems(macro: Macro["value"]): void {
  const { iterRange } = macro;
  if (iterRange === undefined) return;
  macro.iterRange = {
    ...iterRange,
    exprKind: {
      case: "callExpr",
      value: {
        $typeName: "cel.expr.Expr.Call",
        function: RANGE_FUNCTION,
        args: [iterRange],
      },
    },
  };
}

/** Rewrites `@result + [item]`, a name that authors cannot write. */
function appendItem(call: Call["value"]): void {
  const [list, added] = call.args;
  if (call.function !== "_+_" || list === undefined) return;
  const { exprKind: to } = list;
  if (to.case !== "identExpr" || to.value.name !== "@result") return;
  if (added?.exprKind.case !== "listExpr") return;
  call.function = APPEND_FUNCTION;
  call.args = [list, ...added.exprKind.value.elements];
}
