/**
 * Limits the cost of an evaluation. The only loops of CEL are macros such as `all`; nested ones multiply the size of the input,
 * which the client controls.
 */

/** Limit of items that all macros of one evaluation iterate over. */
const MAX_STEPS = 100_000;
/** Characters that count as one step, for functions inside macros. */
const TEXT_PER_STEP = 256;
/** Items that count as one step. */
const ITEMS_PER_STEP = 16;

// Evaluations are synchronous and never nested, so one counter is enough.
let stepsLeft = MAX_STEPS;
let inMacros = false;
let isShared = false;

/** Resets the counter for the next evaluation. */
export function resetCost(): void {
  inMacros = false;
  if (!isShared) stepsLeft = MAX_STEPS;
}

/** Runs several evaluations that may take as many steps together as one. */
export function withSharedSteps<Result>(run: () => Result): Result {
  stepsLeft = MAX_STEPS;
  isShared = true;
  try {
    return run();
  } finally {
    isShared = false;
  }
}

/**
 * Counts the items of a macro's range.
 * @throws {RangeError} If the evaluation takes too many steps.
 */
function countItems(range: unknown): void {
  inMacros = true;
  take(1 + itemsOf(range));
}

/**
 * Counts an argument or result of a function. Functions before the first macro run once, and are not counted.
 * @throws {RangeError} If the evaluation takes too many steps.
 */
function countValue(value: unknown): void {
  if (!inMacros) return;
  if (typeof value === "string" || value instanceof Uint8Array) {
    take(Math.trunc(value.length / TEXT_PER_STEP));
  } else take(Math.trunc(itemsOf(value) / ITEMS_PER_STEP));
}

function take(steps: number): void {
  stepsLeft -= steps;
  if (stepsLeft < 0) {
    throw new RangeError("the expression takes too many steps");
  }
}

/** Returns the number of items of a list or map, which have a `size`. */
function itemsOf(value: unknown): number {
  return typeof value === "object" && value !== null && "size" in value &&
      typeof value.size === "number"
    ? value.size
    : 0;
}

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
  if (isMacro(node)) wrapRange(node.value);
  else if (isCall(node)) appendItem(node.value);
}

function isMacro(node: object): node is Macro {
  return "case" in node && node.case === "comprehensionExpr";
}

function isCall(node: object): node is Call {
  return "case" in node && node.case === "callExpr";
}

function wrapRange(macro: Macro["value"]): void {
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

/** All functions of one name. */
interface Group<Value, Result> {
  readonly name: string;
  call(id: number, target: Value | undefined, args: Value[]): Result;
}

interface Functions<Value, Result> extends Iterable<{ readonly name: string }> {
  find(name: string): Group<Value, Result> | undefined;
}

/** Wraps the functions of an environment to count their arguments and results. */
export function withCountedFunctions<
  Value,
  Result,
  Environment extends { readonly funcs: Functions<Value, Result> },
>(environment: Environment): Environment {
  const { funcs } = environment;
  const names = new Set([...funcs].map(({ name }) => name));
  const groups = new Map(
    [...names].map((name) => [name, countingGroup(funcs.find(name))]),
  );
  // Only the library can create some members of its classes.
  const find = { value: (name: string) => groups.get(name) };
  const counting = { value: Object.create(funcs, { find }) };
  return Object.create(environment, { funcs: counting });
}

/** Throws in `find`, which ends the evaluation; an error of the function itself could be absorbed by `||`. */
function countingGroup<Value, Result>(
  group: Group<Value, Result> | undefined,
): Group<Value, Result> | undefined {
  if (group === undefined) return undefined;
  switch (group.name) {
    case APPEND_FUNCTION:
      return group;
    case RANGE_FUNCTION:
      return withCall(group, (id, target, args) => {
        args.forEach(countItems);
        return group.call(id, target, args);
      });
    default:
      return withCall(group, (id, target, args) => {
        countValue(target);
        for (const arg of args) countValue(arg);
        const result = group.call(id, target, args);
        countValue(result);
        return result;
      });
  }
}

function withCall<Value, Result>(
  group: Group<Value, Result>,
  call: Group<Value, Result>["call"],
): Group<Value, Result> {
  return Object.create(group, { call: { value: call } });
}
