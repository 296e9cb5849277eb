/** A JSON object whose members are not yet known. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True for JSON objects, false for arrays, `null` and scalars. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
