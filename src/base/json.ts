/** A JSON object of unknown shape. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A value that JSON can represent. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** Parses JSON; returns `undefined` when `text` is invalid. The runtime's error would quote the text, which may contain a secret. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reports whether the value is an object, and neither an array nor `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reports whether objects and arrays are nested deeper than `limit`. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  return Object.values(value).some((item) => isDeeperThan(item, limit - 1));
}

/** Returns the member if it is a string. */
export function stringMember(
  object: JsonObject,
  name: string,
): string | undefined {
  const value = object[name];
  return typeof value === "string" ? value : undefined;
}

/** Returns the value at a path of members; `undefined` where there is none. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce(
    (holder, name) => isJsonObject(holder) ? holder[name] : undefined,
    value,
  );
}

/** Returns the object at a path of members; an empty one where there is none. */
export function objectAt(
  value: unknown,
  ...path: readonly string[]
): JsonObject {
  const found = valueAt(value, ...path);
  return isJsonObject(found) ? found : {};
}

/** Returns the items of the list at a path of members; none where there is no list. */
export function listAt(
  value: unknown,
  ...path: readonly string[]
): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** Returns the objects of the list at a path of members. */
export function objectsAt(
  value: unknown,
  ...path: readonly string[]
): readonly JsonObject[] {
  return listAt(value, ...path).filter(isJsonObject);
}

/** Returns the strings of the list at a path of members. */
export function stringsAt(
  value: unknown,
  ...path: readonly string[]
): readonly string[] {
  return listAt(value, ...path).filter((item) => typeof item === "string");
}

const MAX_DEPTH = 32;

/** Copies a value into JSON: `null` for what JSON cannot represent, and for what is nested more than 32 deep. */
export function toJson(value: unknown, depth = MAX_DEPTH): JsonValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "bigint":
      return Number(value);
    case "object":
      break;
    default:
      return null;
  }
  if (value === null || depth === 0) return null;
  if (Array.isArray(value)) return value.map((item) => toJson(item, depth - 1));
  const entries = Object.entries(value).filter(([, item]) =>
    item !== undefined
  );
  return Object.fromEntries(
    entries.map(([name, item]) => [name, toJson(item, depth - 1)]),
  );
}
