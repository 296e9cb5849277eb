import { isJsonObject } from "../../base/json.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses JSON from a client that means the same to every server: of members that occur twice in an object some servers take the first
 * and some the last, so that a rule could see a harmless one and the server another.
 * @throws {SyntaxError | TypeError} When it is no JSON in UTF-8, or an object has two members of the same name.
 */
export function parseUnambiguous(bytes: Uint8Array): unknown {
  const text = decoder.decode(bytes);
  const value: unknown = JSON.parse(text);
  if (writtenMembers(text) === keptMembers(value)) return value;
  throw new TypeError("a member occurs twice");
}

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

/** How many members the objects in a JSON text have, each with its colon. */
function writtenMembers(text: string): number {
  let members = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === ":") members++;
    if (character === '"') index = endOfString(text, index);
  }
  return members;
}

/** Index of the quote that ends the string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1);;) {
    let backslashes = 0;
    while (text.charAt(end - 1 - backslashes) === "\\") backslashes++;
    if (backslashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
}

/** How many members are left after parsing. Without recursion: a client decides how deep it would go. */
function keptMembers(value: unknown): number {
  let members = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    const items = Object.values(next);
    if (!Array.isArray(next)) members += items.length;
    for (const item of items) open.push(item);
  }
  return members;
}
