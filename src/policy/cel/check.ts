import type { Ast, Parsed } from "./library.ts";
import { textOf, visitParts } from "./paths.ts";
import { environment } from "./plan.ts";
import {
  type FieldName,
  fieldsOf,
  isVariable,
  type VariableName,
  variableNames,
} from "./variables.ts";

/** An unknown name, and the known ones. */
export interface UnknownName {
  readonly message: string;
  readonly offset: number;
  readonly name: string;
  readonly candidates: readonly string[];
}

/** Names that an expression uses. */
export interface Usage {
  readonly variables: ReadonlySet<VariableName>;
  /** Fields of variables: `request.body`, also for `request['body']` and `has(request.body)`. */
  readonly fields: ReadonlySet<FieldName>;
  /** The first unknown name. */
  readonly unknown: UnknownName | undefined;
}

/** Types are values in CEL: `type(jwt.sub) == string`. */
const typeNames: ReadonlySet<string> = new Set(
  "bool bytes double int list map null_type string type uint".split(" "),
);

/** Macros, which the parser expands, so that the tree has no calls of them. */
const macroNames = ["all", "exists", "exists_one", "filter", "has", "map"];

const writableName = /^[A-Za-z]\w*$/;

/** Finds the variables and fields that an expression reads, and unknown names. */
export function checkNames({ ast, offsetOf }: Parsed): Usage {
  const variables = new Set<VariableName>();
  const fields = new Set<FieldName>();
  let unknown: UnknownName | undefined;
  const report = (
    offset: number,
    what: string,
    name: string,
    candidates: readonly string[],
  ) => {
    const message = `unknown ${what} "${name}"`;
    unknown ??= { message, offset, name, candidates };
  };
  const { functionNames } = environment();
  const known = [...functionNames].map((full) => full.replace(/^.*\./, ""));
  /** `strings.quote(x)`: the namespace of a function is not a variable. */
  const namespaces = new Set<Ast>();
  visitParts(ast, new Set(), (part, local) => {
    const { exprKind: kind } = part;
    if (kind.case === "identExpr") {
      const name = kind.value.name.replace(/^\./, "");
      if (isVariable(name) && !local.has(name)) variables.add(name);
      else if (
        !local.has(name) && !typeNames.has(name) && !namespaces.has(part)
      ) report(offsetOf(part), "variable", name, variableNames);
    } else if (kind.case === "selectExpr") {
      const variable = variableOf(kind.value.operand, local);
      if (variable === undefined) return true;
      const { field } = kind.value;
      fields.add(`${variable}.${field}`);
      const candidates = fieldsOf(variable) ?? [field];
      if (candidates.includes(field)) return true;
      // The offset of fields and methods is that of their dot.
      report(offsetOf(part) + 1, `field of ${variable}`, field, candidates);
    } else if (kind.case === "callExpr") {
      const { function: name, target, args: [operand, index] } = kind.value;
      // Operators have names that authors cannot write, such as `_&&_`.
      if (writableName.test(name) && !known.includes(name)) {
        const candidates = known.filter((each) => writableName.test(each));
        const offset = offsetOf(part) + (target === undefined ? 0 : 1);
        report(offset, "function", name, [...candidates, ...macroNames]);
      }
      const variable = variableOf(operand, local);
      const field = index && textOf(index);
      if (name === "_[_]" && variable !== undefined && field !== undefined) {
        fields.add(`${variable}.${field}`);
      }
      if (target && functionNames.has(`${nameOf(target)}.${name}`)) {
        namespaces.add(target);
      }
    }
    return true;
  });
  return { variables, fields, unknown };
}

/** Returns the variable that a part is, unless a macro hides it. */
function variableOf(
  part: Ast | undefined,
  local: ReadonlySet<string>,
): VariableName | undefined {
  const name = nameOf(part) ?? "";
  return isVariable(name) && !local.has(name) ? name : undefined;
}

function nameOf(part: Ast | undefined): string | undefined {
  return part?.exprKind.case === "identExpr"
    ? part.exprKind.value.name
    : undefined;
}
