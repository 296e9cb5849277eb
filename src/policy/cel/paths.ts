import {
  joinShapes,
  type JsonShape,
  WHOLE,
} from "../../base/json/json_shape.ts";
import type { Ast } from "./library.ts";

/** A field that an expression reads, including its contents: `["mcp", "tool", "name"]`. */
export type FieldPath = readonly [variable: string, ...fields: string[]];

/** A field that an expression reads. */
export interface FieldRead {
  readonly path: FieldPath;
  /** It reads only whether the field is there: `has(mcp.tool)`. */
  readonly isPresence: boolean;
}

/** Lists the fields that an expression reads; each chain such as `mcp.tool['name']` or `has(jwt.sub)` once, in full. */
export function fieldReadsOf(ast: Ast): readonly FieldRead[] {
  const reads: FieldRead[] = [];
  visitFields(ast, ({ exprKind: kind }, path) => {
    const isPresence = kind.case === "selectExpr" && kind.value.testOnly;
    reads.push({ path, isPresence });
  });
  return reads;
}

/** Visits each chain of fields that an expression reads; names that macros introduce are none. */
export function visitFields(
  ast: Ast,
  visit: (part: Ast, path: FieldPath) => void,
): void {
  visitParts(ast, noNames, (part, local) => {
    const path = pathOf(part);
    if (path === undefined) return true;
    if (!local.has(path[0])) visit(part, path);
    return false;
  });
}

const noNames: ReadonlySet<string> = new Set();

/**
 * Visits the parts of an expression from the outside in.
 * @param local Names that macros around `part` have introduced.
 * @param visit Reports whether to visit what is inside the part too.
 */
export function visitParts(
  part: Ast,
  local: ReadonlySet<string>,
  visit: (part: Ast, local: ReadonlySet<string>) => boolean,
): void {
  if (!visit(part, local)) return;
  const { exprKind: kind } = part;
  if (kind.case === "comprehensionExpr") {
    const { iterVar, iterVar2, accuVar, ...parts } = kind.value;
    const inner = new Set([...local, iterVar, iterVar2, accuVar]);
    const { iterRange, accuInit, loopCondition, loopStep, result } = parts;
    for (const each of [iterRange, accuInit]) {
      if (each !== undefined) visitParts(each, local, visit);
    }
    for (const each of [loopCondition, loopStep, result]) {
      if (each !== undefined) visitParts(each, inner, visit);
    }
  } else for (const each of childrenOf(part)) visitParts(each, local, visit);
}

/** Returns the parts right inside of a part that is no macro. */
export function childrenOf({ exprKind: kind }: Ast): readonly Ast[] {
  const parts = (): readonly (Ast | undefined)[] => {
    switch (kind.case) {
      case "selectExpr":
        return [kind.value.operand];
      case "callExpr":
        return [kind.value.target, ...kind.value.args];
      case "listExpr":
        return kind.value.elements;
      case "structExpr":
        return kind.value.entries.flatMap(({ keyKind, value }) => [
          keyKind.case === "mapKey" ? keyKind.value : undefined,
          value,
        ]);
      default:
        return [];
    }
  };
  return parts().filter((part) => part !== undefined);
}

/** Returns the chain of fields of `part`; `undefined` when it is anything else. */
export function pathOf(part: Ast | undefined): FieldPath | undefined {
  const kind = part?.exprKind;
  switch (kind?.case) {
    case "identExpr":
      return [kind.value.name.replace(/^\./, "")];
    case "selectExpr": {
      const path = pathOf(kind.value.operand);
      return path && [...path, kind.value.field];
    }
    case "callExpr": {
      const [operand, index] = kind.value.args;
      const field = kind.value.function === "_[_]" && index && textOf(index);
      const path = typeof field === "string" ? pathOf(operand) : undefined;
      return path && typeof field === "string" ? [...path, field] : undefined;
    }
    default:
      return undefined;
  }
}

/** Returns the parts that are read of the field at `prefix`, none of them if only its presence is; `undefined` when it is not read. */
export function shapeAt(
  reads: readonly FieldRead[],
  prefix: FieldPath,
): JsonShape | undefined {
  let shape: JsonShape | undefined;
  for (const { path, isPresence } of reads) {
    const common = Math.min(path.length, prefix.length);
    if (!prefix.slice(0, common).every((name, i) => name === path[i])) continue;
    if (isPresence && path.length < prefix.length) continue;
    const read = path.slice(prefix.length).reduceRight<JsonShape>(
      (inner, name) => Object.fromEntries([[name, inner]]),
      isPresence ? {} : WHOLE,
    );
    shape = shape === undefined ? read : joinShapes(shape, read);
  }
  return shape;
}

/** Returns the value of a string literal such as `'a'`; `undefined` for anything else. */
export function textOf({ exprKind: kind }: Ast): string | undefined {
  if (kind.case !== "constExpr") return undefined;
  const { constantKind } = kind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}
