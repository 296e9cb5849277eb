import { foldName } from "./json_shape.ts";

/** The reason why a JSON text is rejected. */
export class JsonProblem extends Error {
  override readonly name = "JsonProblem";

  /** @param isAmbiguous True if servers accept the text, but read it differently. */
  constructor(message: string, readonly isAmbiguous: boolean) {
    super(message);
  }
}

/**
 * Counts the names of all objects in a parsed value; without recursion, since the client controls the depth.
 * @throws {JsonProblem} If servers read one of its strings differently.
 */
export function countNames(value: unknown): number {
  let names = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "string") assertUnicode(next);
    if (typeof next !== "object" || next === null) continue;
    if (!Array.isArray(next)) names += countDistinct(Object.keys(next));
    for (const item of Object.values(next)) open.push(item);
  }
  return names;
}

function countDistinct(names: readonly string[]): number {
  const folded = new Set<string>();
  for (const name of names) {
    const isPlain = lowerCase.test(name);
    if (!isPlain && (name.includes("\0") || !name.isWellFormed())) {
      throw otherSpelling(name);
    }
    const fold = isPlain ? name : foldName(name);
    if (folded.has(fold)) throw otherSpelling(name);
    folded.add(fold);
  }
  return names.length;
}

const lowerCase = /^[a-z0-9_-]*$/;

/** Returns the part of a name that all servers read: some stop at the first NUL, and some drop halves of surrogate pairs. */
export function withoutIgnored(name: string): string {
  return name.replace(/\0.*$/s, "").replace(/\p{Surrogate}/gu, "");
}

function assertUnicode(text: string): void {
  if (text.isWellFormed()) return;
  throw ambiguous("a string has half a surrogate pair");
}

/** Creates the error for a name that lenient servers read as another. */
export function otherSpelling(name: string): JsonProblem {
  const quoted = JSON.stringify(name.slice(0, 64));
  return ambiguous(`the member ${quoted} is spelled in another way`);
}

/** Creates the error for a text that servers read differently. */
export function ambiguous(message: string): JsonProblem {
  return new JsonProblem(message, true);
}

/** Creates the error for a text that is not JSON. */
export function malformed(): JsonProblem {
  return new JsonProblem("it is not JSON", false);
}

/** Creates the error for a text with more values than are read. */
export function tooManyValues(): JsonProblem {
  return new JsonProblem("it has too many values", false);
}
