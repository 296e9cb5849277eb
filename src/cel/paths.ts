import { joinShapes, type JsonShape, WHOLE } from "../base/json_shape.ts";
import type { Ast } from "./library.ts";
import { textOf } from "./membership.ts";

/** A field that an expression reads, including its contents: `["mcp", "tool", "name"]`. */
export type FieldPath = readonly [variable: string, ...fields: string[]];

/** Lists the fields that an expression reads; each chain such as `mcp.tool['name']` or `has(jwt.sub)` once, in full. */
export function fieldPathsOf(ast: Ast): readonly FieldPath[] {
  const paths: FieldPath[] = [];
  collect(ast, new Set(), paths);
  return paths;
}

/** @param local Names introduced by macros around `part`. */
function collect(
  part: Ast,
  local: ReadonlySet<string>,
  paths: FieldPath[],
): void {
  const path = pathOf(part);
  if (path !== undefined) {
    if (!local.has(path[0])) paths.push(path);
    return;
  }
  const collectAll = (parts: readonly (Ast | undefined)[], names = local) => {
    for (const each of parts) {
      if (each !== undefined) collect(each, names, paths);
    }
  };
  const { exprKind: kind } = part;
  switch (kind.case) {
    case "selectExpr":
      return collectAll([kind.value.operand]);
    case "callExpr":
      return collectAll([kind.value.target, ...kind.value.args]);
    case "listExpr":
      return collectAll(kind.value.elements);
    case "structExpr":
      return kind.value.entries.forEach(({ keyKind, value }) =>
        collectAll([
          keyKind.case === "mapKey" ? keyKind.value : undefined,
          value,
        ])
      );
    case "comprehensionExpr": {
      const { iterVar, iterVar2, accuVar, ...parts } = kind.value;
      collectAll([parts.iterRange, parts.accuInit]);
      const inner = new Set([...local, iterVar, iterVar2, accuVar]);
      collectAll([parts.loopCondition, parts.loopStep, parts.result], inner);
    }
  }
}

/** Returns the chain of fields of `part`; `undefined` when it is anything else. */
function pathOf(part: Ast | undefined): FieldPath | undefined {
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

/** Returns the parts that `paths` read of the field at `prefix`; `undefined` when they do not read it. */
export function shapeAt(
  paths: readonly FieldPath[],
  prefix: FieldPath,
): JsonShape | undefined {
  let shape: JsonShape | undefined;
  for (const path of paths) {
    const common = Math.min(path.length, prefix.length);
    if (!prefix.slice(0, common).every((name, i) => name === path[i])) continue;
    const read = path.slice(prefix.length).reduceRight<JsonShape>(
      (inner, name) => Object.fromEntries([[name, inner]]),
      WHOLE,
    );
    shape = shape === undefined ? read : joinShapes(shape, read);
  }
  return shape;
}
