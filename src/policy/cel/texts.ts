/**
 * Methods of strings as in the strings extension of cel-go. Those of the CEL library take quadratic time, or lose the rest of the
 * string.
 */

/** Longest string that an expression may build: short inputs of a client can multiply. */
const MAX_LENGTH = 8 * 1024 * 1024;

/** Limit of parts: splitting a string into so many takes 5 ms. */
const MAX_PARTS = 100_000;

/**
 * Implements `replace`: `'a-b-c'.replace('-', '+', 1)` is `a+b-c`. The empty string matches before and after each character.
 * @param limit Negative for all.
 * @throws {RangeError} If the result is too long, or has too many parts.
 */
export function replaceText(
  text: string,
  old: string,
  replacement: string,
  limit: bigint = -1n,
): string {
  if (limit === 0n) return text;
  const parts = partsOf(text, old);
  const pieces = old === "" ? ["", ...parts, ""] : parts;
  const places = pieces.length - 1;
  const count = limit < 0n ? places : Math.min(Number(limit), places);
  const length = text.length + count * (replacement.length - old.length);
  if (length > MAX_LENGTH) {
    throw new RangeError("the result of replace() is too long");
  }
  const [first, rest] = [pieces.slice(0, count + 1), pieces.slice(count + 1)];
  return [first.join(replacement), ...rest].join(old);
}

/**
 * Implements `split`: `'a,b,c'.split(',', 2)` is `['a', 'b,c']`; the last part is the rest.
 * @param limit Negative for all.
 * @throws {RangeError} If there are too many parts.
 */
export function splitText(
  text: string,
  separator: string,
  limit: bigint = -1n,
): string[] {
  const parts = partsOf(text, separator);
  if (limit < 0n || limit >= BigInt(parts.length)) return parts;
  if (limit === 0n) return [];
  const last = Number(limit) - 1;
  return [...parts.slice(0, last), parts.slice(last).join(separator)];
}

/** Returns all parts; with an empty separator, the characters. */
function partsOf(text: string, separator: string): string[] {
  const parts = separator === ""
    ? [...text.slice(0, 2 * MAX_PARTS + 1)]
    : text.split(separator, MAX_PARTS + 1);
  if (parts.length <= MAX_PARTS) return parts;
  throw new RangeError("the string has too many parts");
}

/**
 * Implements `join`: `['a', 'b'].join('-')` is `a-b`.
 * @throws {RangeError} If the result is too long.
 * @throws {TypeError} If an item is not a string.
 */
export function joinTexts(items: Iterable<unknown>, separator = ""): string {
  const texts: string[] = [];
  let length = 0;
  for (const item of items) {
    if (typeof item !== "string") {
      throw new TypeError("join() works on lists of strings");
    }
    length += item.length + (texts.length === 0 ? 0 : separator.length);
    if (length > MAX_LENGTH) {
      throw new RangeError("the result of join() is too long");
    }
    texts.push(item);
  }
  return texts.join(separator);
}
