import { isJsonObject, type JsonObject, valueAt } from "../../base/json.ts";

/** Part of the name of the annotation, after the group. */
const NAME = "priorities";

/** An annotation is invalid; the message says how. */
export class PrioritiesError extends Error {
  override readonly name = "PrioritiesError";
}

/**
 * Returns a route with the priorities of its annotation `<group>/priorities: primary=0, fallback=1`: the API server drops fields of
 * `backendRefs` that the Gateway API does not have.
 * @throws {PrioritiesError}
 */
export function withPriorities(route: JsonObject, group: string): JsonObject {
  const annotation = `${group}/${NAME}`;
  const { spec } = route;
  const text = valueAt(route, "metadata", "annotations", annotation);
  if (typeof text !== "string" || !isJsonObject(spec)) return route;
  const priorities = parse(text, annotation);
  const used = new Set<string>();
  const prioritize = (ref: JsonObject) => {
    const name = String(ref["name"]);
    const priority = priorities.get(name);
    if (priority === undefined) return ref;
    used.add(name);
    return { ...ref, priority };
  };
  const mapped = mapObjects(
    spec,
    "rules",
    (rule) => mapObjects(rule, "backendRefs", prioritize),
  );
  const unknown = priorities.keys().find((name) => !used.has(name));
  if (unknown !== undefined) {
    throw new PrioritiesError(
      `Annotation "${annotation}": no backendRef has the name "${unknown}"`,
    );
  }
  return { ...route, spec: mapped };
}

function parse(text: string, annotation: string): ReadonlyMap<string, number> {
  return new Map(
    text.split(",").map((part) => {
      const [, name = "", priority] =
        /^\s*([a-z0-9.-]+)\s*=\s*(\d{1,2})\s*$/.exec(part) ?? [];
      if (priority !== undefined) return [name, Number(priority)];
      throw new PrioritiesError(
        `Annotation "${annotation}": expected names of backendRefs with numbers, such as "primary=0, fallback=1", got "${part.trim()}"`,
      );
    }),
  );
}

/** Returns an object with the objects of one of its lists mapped. */
function mapObjects(
  owner: JsonObject,
  name: string,
  map: (item: JsonObject) => JsonObject,
): JsonObject {
  const list = owner[name];
  if (!Array.isArray(list)) return owner;
  const mapped = list.map((item: unknown) =>
    isJsonObject(item) ? map(item) : item
  );
  return { ...owner, [name]: mapped };
}
