/** A JSON object, as opposed to an array or a bare value. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether `value` is a JSON object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a text says in JSON; `undefined` when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whatever a provider sends reaches the client; here it only says nothing about usage.
    return undefined;
  }
}
