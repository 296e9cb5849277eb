/**
 * Methods of texts, for which the CEL library needs time that grows with the square of the text, or loses what is left of it.
 * They work as the strings extension of cel-go says.
 */

/** Texts that expressions make are not longer: a few short ones, which a client chooses, can multiply. */
const MAX_LENGTH = 8 * 1024 * 1024;

/** How many parts a text may have: to split it into so many takes 5 ms. */
const MAX_PARTS = 100_000;

/**
 * `'a-b-c'.replace('-', '+', 1)` is `a+b-c`. The empty text stands before and after each character.
 * @param limit Negative for all.
 * @throws {RangeError} When the result is too long, or has too many parts.
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
    throw new RangeError("the text that replace() makes is too long");
  }
  const [first, rest] = [pieces.slice(0, count + 1), pieces.slice(count + 1)];
  return [first.join(replacement), ...rest].join(old);
}

/**
 * `'a,b,c'.split(',', 2)` is `['a', 'b,c']`: the last part is all that is left.
 * @param limit Negative for all.
 * @throws {RangeError} When there are too many parts.
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

/** All parts, or the characters where the separator is empty. */
function partsOf(text: string, separator: string): string[] {
  const parts = separator === ""
    ? [...text.slice(0, 2 * MAX_PARTS + 1)]
    : text.split(separator, MAX_PARTS + 1);
  if (parts.length <= MAX_PARTS) return parts;
  throw new RangeError("the text has too many parts");
}

/**
 * `['a', 'b'].join('-')` is `a-b`.
 * @throws {RangeError} When the result is too long.
 * @throws {TypeError} When an item is no text.
 */
export function joinTexts(items: Iterable<unknown>, separator = ""): string {
  const texts: string[] = [];
  let length = 0;
  for (const item of items) {
    if (typeof item !== "string") {
      throw new TypeError("join() works on lists of texts");
    }
    length += item.length + (texts.length === 0 ? 0 : separator.length);
    if (length > MAX_LENGTH) {
      throw new RangeError("the text that join() makes is too long");
    }
    texts.push(item);
  }
  return texts.join(separator);
}
