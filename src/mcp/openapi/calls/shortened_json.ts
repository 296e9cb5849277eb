import { isJsonObject } from "../../../base/json.ts";

/** Attempts, each of which keeps half as much of every list and string. */
const ATTEMPTS = 16;

/** Limits of lists, objects and strings. */
interface Limits {
  readonly items: number;
  readonly members: number;
  readonly characters: number;
}

/** Returns a JSON value with shortened lists, strings and, last, objects, so that its text has at most `maxLength` characters. */
export function shortenJson(value: unknown, maxLength: number): unknown {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const limits = {
      items: Math.max(1, 512 >> attempt),
      members: Math.max(1, 65_536 >> attempt),
      characters: Math.max(16, 16_384 >> attempt),
    };
    const shortened = shorten(value, limits);
    if (JSON.stringify(shortened).length <= maxLength) return shortened;
  }
  return Array.isArray(value) ? [] : isJsonObject(value) ? {} : null;
}

function shorten(value: unknown, limits: Limits): unknown {
  if (typeof value === "string") {
    return value.length <= limits.characters
      ? value
      : `${value.slice(0, limits.characters).toWellFormed()}…`;
  }
  if (Array.isArray(value)) {
    return value.slice(0, limits.items).map((item) => shorten(item, limits));
  }
  if (!isJsonObject(value) || JSON.isRawJSON(value)) return value;
  return Object.fromEntries(
    Object.entries(value).slice(0, limits.members)
      .map(([name, item]) => [name, shorten(item, limits)]),
  );
}
