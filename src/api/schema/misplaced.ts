import { settingsSchema } from "../settings.ts";

/** Reports whether the unknown field belongs to a sibling, such as `("matches", 0)`. */
export type IsFieldOf = (...path: readonly (string | number)[]) => boolean;

/** Fields with nested fields, each with a sibling that identifies the mapping. */
const parents = [
  { name: "policies", sibling: "hostnames" },
  { name: "traffic", sibling: "targetRefs" },
];

/** Suggests a fix for a field that is written beside its parent. @param known Valid fields at that place. */
export function hintForMisplaced(
  key: string,
  known: readonly string[],
  isFieldOf: IsFieldOf,
): string | undefined {
  if (known.includes("matches") && isFieldOf("matches", 0)) {
    return `write matches: [{ ${key}: … }]`;
  }
  const isSetting = known.includes("config") && known.includes("routes") &&
    Object.hasOwn(settingsSchema.entries, key);
  if (isSetting) return 'move it into "config"';
  const parent = parents.find(({ name, sibling }) =>
    known.includes(name) && known.includes(sibling) && isFieldOf(name)
  );
  return parent && `move it into "${parent.name}"`;
}
