import type { GenericSchema, Infer } from "../../api/schema/schema.ts";
import {
  type Path,
  type Problem,
  validate,
  type Validated,
} from "../../api/schema/validate.ts";

/** An invalid item, reduced to its valid parts. */
export interface Salvaged<T> {
  readonly value: T;
  /** Paths that were left out. */
  readonly removed: readonly Path[];
}

/** A part that is left out may make another one invalid, which is then left out too. */
const MAX_ROUNDS = 8;

/**
 * Leaves out the invalid parts of an item, so that the others are checked nevertheless; `undefined` when nothing valid is left.
 * Items of lists keep their index: those after an invalid one are left out.
 */
export function salvage<S extends GenericSchema>(
  schema: S,
  item: unknown,
  problems: readonly Problem[],
): Salvaged<Infer<S>> | undefined {
  const rest = structuredClone(item);
  const removed: Path[] = [];
  let result: Validated<Infer<S>> = { ok: false, problems };
  for (let round = 0; !result.ok && round < MAX_ROUNDS; round++) {
    for (const { path } of result.problems) {
      const at = remove(rest, path);
      if (at === undefined) return undefined;
      removed.push(at);
    }
    result = validate(schema, rest);
  }
  return result.ok ? { value: result.value, removed } : undefined;
}

/** Removes the value at a path, or, when it is required and missing, the value that lacks it; returns the path. */
function remove(root: unknown, path: Path): Path | undefined {
  let holder = root;
  for (const [depth, step] of path.slice(0, -1).entries()) {
    const next = memberOf(holder, step);
    // Another problem was about a value above, which is left out.
    if (next === undefined) return path.slice(0, depth + 1);
    holder = next;
  }
  const last = path.at(-1);
  if (last === undefined) return undefined;
  if (Array.isArray(holder)) {
    if (Number(last) === 0) return remove(root, path.slice(0, -1));
    holder.length = Math.min(holder.length, Number(last));
    return path;
  }
  return typeof holder === "object" && holder !== null &&
      Object.hasOwn(holder, last) && Reflect.deleteProperty(holder, last)
    ? path
    : remove(root, path.slice(0, -1));
}

function memberOf(holder: unknown, step: string | number): unknown {
  return typeof holder === "object" && holder !== null &&
      Object.hasOwn(holder, step)
    ? Reflect.get(holder, step)
    : undefined;
}
