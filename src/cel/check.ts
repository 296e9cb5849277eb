import { environment } from "./environment.ts";
import type { Ast, Parsed } from "./library.ts";
import { textOf } from "./paths.ts";
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

/** Finds the variables and fields that an expression reads, and unknown names. */
export function checkNames(parsed: Parsed): Usage {
  const walk = new Walk(parsed);
  walk.visit(parsed.ast, noNames);
  const { variables, fields, unknown } = walk;
  return { variables, fields, unknown };
}

const noNames: ReadonlySet<string> = new Set();

/** Types are values in CEL: `type(jwt.sub) == string`. */
const typeNames: ReadonlySet<string> = new Set([
  "bool",
  "bytes",
  "double",
  "int",
  "list",
  "map",
  "null_type",
  "string",
  "type",
  "uint",
]);

/** Macros, which the parser expands, so that the tree has no calls of them. */
const macroNames = ["all", "exists", "exists_one", "filter", "has", "map"];

class Walk {
  readonly variables = new Set<VariableName>();
  readonly fields = new Set<FieldName>();
  unknown: UnknownName | undefined;
  readonly #parsed: Parsed;

  constructor(parsed: Parsed) {
    this.#parsed = parsed;
  }

  /** @param local Names introduced by macros around `part`. */
  visit(part: Ast, local: ReadonlySet<string>): void {
    const { exprKind: kind } = part;
    switch (kind.case) {
      case "identExpr":
        return this.#visitName(part, kind.value.name, local);
      case "selectExpr":
        this.#visitField(part, local);
        return this.#visitAll([kind.value.operand], local);
      case "callExpr": {
        const { function: name, target, args } = kind.value;
        this.#visitFunction(part, name, target !== undefined);
        if (name === "_[_]") this.#visitIndex(args, local);
        // `strings.quote(x)`: the namespace of a function is not a variable.
        const isNamespace = environment().functionNames.has(
          `${nameOf(target)}.${name}`,
        );
        return this.#visitAll(isNamespace ? args : [target, ...args], local);
      }
      case "listExpr":
        return this.#visitAll(kind.value.elements, local);
      case "structExpr":
        return this.#visitAll(
          kind.value.entries.flatMap(({ keyKind, value }) => [
            keyKind.case === "mapKey" ? keyKind.value : undefined,
            value,
          ]),
          local,
        );
      case "comprehensionExpr": {
        const { iterVar, iterVar2, accuVar, ...parts } = kind.value;
        const inner = new Set([...local, iterVar, iterVar2, accuVar]);
        this.#visitAll([parts.iterRange, parts.accuInit], local);
        const { loopCondition, loopStep, result } = parts;
        return this.#visitAll([loopCondition, loopStep, result], inner);
      }
    }
  }

  #visitAll(
    parts: readonly (Ast | undefined)[],
    local: ReadonlySet<string>,
  ): void {
    for (const part of parts) if (part !== undefined) this.visit(part, local);
  }

  #visitName(part: Ast, written: string, local: ReadonlySet<string>): void {
    const name = written.replace(/^\./, "");
    if (local.has(name) || typeNames.has(name)) return;
    if (isVariable(name)) this.variables.add(name);
    else {
      const offset = this.#parsed.offsetOf(part);
      this.#report(offset, "variable", name, variableNames);
    }
  }

  #visitField(part: Ast, local: ReadonlySet<string>): void {
    if (part.exprKind.case !== "selectExpr") return;
    const { operand, field } = part.exprKind.value;
    const variable = nameOf(operand);
    if (variable === undefined || local.has(variable)) return;
    if (!isVariable(variable)) return;
    this.fields.add(`${variable}.${field}`);
    const fields = fieldsOf(variable);
    if (fields === undefined || fields.includes(field)) return;
    // The offset of fields and methods is that of their dot.
    const offset = this.#parsed.offsetOf(part) + 1;
    this.#report(offset, `field of ${variable}`, field, fields);
  }

  #visitIndex([operand, index]: readonly Ast[], local: ReadonlySet<string>) {
    const variable = nameOf(operand);
    const field = index && textOf(index);
    if (variable === undefined || field === undefined) return;
    if (local.has(variable) || !isVariable(variable)) return;
    this.fields.add(`${variable}.${field}`);
  }

  #visitFunction(part: Ast, name: string, isMethod: boolean): void {
    // Operators have names that authors cannot write, such as `_&&_`.
    if (!/^[A-Za-z]\w*$/.test(name)) return;
    const known = [...environment().functionNames].map((full) =>
      full.replace(/^.*\./, "")
    );
    if (known.includes(name)) return;
    const callable = known.filter((each) => /^[A-Za-z]\w*$/.test(each));
    const offset = this.#parsed.offsetOf(part) + (isMethod ? 1 : 0);
    this.#report(offset, "function", name, [...callable, ...macroNames]);
  }

  #report(
    offset: number,
    what: string,
    name: string,
    candidates: readonly string[],
  ): void {
    this.unknown ??= {
      message: `unknown ${what} "${name}"`,
      offset,
      name,
      candidates,
    };
  }
}

function nameOf(part: Ast | undefined): string | undefined {
  return part?.exprKind.case === "identExpr"
    ? part.exprKind.value.name
    : undefined;
}
