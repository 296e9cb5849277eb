declare global {
  interface JSON {
    /** Returns an object that `JSON.stringify` writes as the given text. */
    rawJSON(text: string): object;
  }
}

/** Numbers that a double may not hold: long digits, or an exponent. */
const inexact = /\d{16}|\d[eE][-+]?\d|\.\d{15}/;

/**
 * Parses JSON like `JSON.parse`, and keeps the digits of numbers that a double cannot hold, so that `JSON.stringify` writes them again.
 * @throws {SyntaxError}
 */
export function parseExactJson(text: string): unknown {
  return inexact.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

/** The third parameter is that of ECMAScript 2026, which TypeScript does not know yet. */
function keepDigits(
  this: unknown,
  _key: string,
  value: unknown,
  { source }: { readonly source?: string } = {},
): unknown {
  const isExact = typeof value !== "number" || source === undefined ||
    String(value) === source;
  return isExact ? value : JSON.rawJSON(source);
}
