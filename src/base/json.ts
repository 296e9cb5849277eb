/** A JSON object of which nothing is known. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The value of a JSON text; `undefined` when it is none. The runtime's error would quote the text, which may hold a secret. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether the value is an object, and neither a list nor `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether objects and lists are nested deeper than `limit`. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  return Object.values(value).some((item) => isDeeperThan(item, limit - 1));
}

/** The member when it is a string. */
export function stringMember(
  object: JsonObject,
  name: string,
): string | undefined {
  const value = object[name];
  return typeof value === "string" ? value : undefined;
}
