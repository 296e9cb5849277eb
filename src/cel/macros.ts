/** Stands around what a macro goes through. */
export const RANGE_FUNCTION = "@range";
/** Adds an item to the list that a macro makes. */
export const APPEND_FUNCTION = "@append";

/** The nodes of the library's syntax tree that macros are made of. */
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
 * The same expression with macros that can be counted: `list.all(…)` goes through `@range(list)`, and `map` and `filter` use
 * `@append`. What they use by themselves, `+`, makes lists of lists of lists, which take a time that grows with the square of their
 * size to read.
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

/** `@result + [item]`; authors cannot write such a name. */
function appendItem(call: Call["value"]): void {
  const [list, added] = call.args;
  if (call.function !== "_+_" || list === undefined) return;
  const { exprKind: to } = list;
  if (to.case !== "identExpr" || to.value.name !== "@result") return;
  if (added?.exprKind.case !== "listExpr") return;
  call.function = APPEND_FUNCTION;
  call.args = [list, ...added.exprKind.value.elements];
}
