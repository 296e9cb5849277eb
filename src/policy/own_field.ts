import { isJsonObject } from "../base/json.ts";

/**
 * The value of a field in JSON from a client, of which servers must have the same idea.
 * @throws {TypeError} When there is a field of that name in another case: some servers would read that one.
 */
export function ownField(value: unknown, name: string): unknown {
  if (!isJsonObject(value)) return undefined;
  for (const key of Object.keys(value)) {
    // Both ways, because of letters such as the long s that only fold in one.
    if (key !== name && key.toUpperCase().toLowerCase() === name) {
      throw new TypeError(`ambiguous field ${JSON.stringify(key)}`);
    }
  }
  return Object.hasOwn(value, name) ? value[name] : undefined;
}
