/** The tokens of JSON (RFC 8259) in bytes of valid UTF-8. Each function takes the index of a token and returns the index after it. */

/** Result for an invalid token. */
export const NO_TOKEN = -1;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const DOT = 0x2e;

/** 1 for bytes that end a run of plain characters in a string: quote, backslash and control characters. */
const stringStops = new Uint8Array(256).fill(1, 0, 0x20);
stringStops[QUOTE] = 1;
stringStops[BACKSLASH] = 1;

const escapes = tableOf('"\\/bfnrt');
const digits = tableOf("0123456789");
const hexDigits = tableOf("0123456789abcdefABCDEF");

/** Kinds of tokens, by their first byte. */
export const KIND = {
  OTHER: 0,
  BLANK: 1,
  STRING: 2,
  NUMBER: 3,
  LITERAL: 4,
  OPEN_OBJECT: 5,
  OPEN_LIST: 6,
  CLOSE_OBJECT: 7,
  CLOSE_LIST: 8,
  SEPARATOR: 9,
  NAME_END: 10,
} as const;

/** Kind of token by its first byte. */
export const kinds = new Uint8Array(256);
for (
  const [kind, characters] of [
    [KIND.BLANK, " \n\r\t"],
    [KIND.STRING, '"'],
    [KIND.NUMBER, "-0123456789"],
    [KIND.LITERAL, "tfn"],
    [KIND.OPEN_OBJECT, "{"],
    [KIND.OPEN_LIST, "["],
    [KIND.CLOSE_OBJECT, "}"],
    [KIND.CLOSE_LIST, "]"],
    [KIND.SEPARATOR, ","],
    [KIND.NAME_END, ":"],
  ] as const
) {
  for (const character of characters) kinds[character.charCodeAt(0)] = kind;
}

/** Returns the kind of the first token; `OTHER` if there is none. */
export function firstKind(bytes: Uint8Array): number {
  let at = 0;
  while (kinds[bytes[at] ?? 0] === KIND.BLANK) at++;
  return kinds[bytes[at] ?? 0] ?? KIND.OTHER;
}

/** Skips a string, which begins with its quote. */
export function skipString(bytes: Uint8Array, start: number): number {
  return skipStringFrom(bytes, start + 1, bytes.length, undefined);
}

/**
 * Skips the rest of a string.
 * @param from Index after the quote, or to go on at, of a string that was skipped in part.
 * @param stop Index before which it ends, or is left: then, the result is `unfinishedAt` the index to go on at.
 * @param view Of all bytes, for strings that may be long.
 */
export function skipStringFrom(
  bytes: Uint8Array,
  from: number,
  stop: number,
  view: DataView | undefined,
): number {
  const { length } = bytes;
  let at = from;
  let nextRun = from;
  while (at < stop) {
    const byte = bytes[at] ?? 0;
    if (stringStops[byte] === 0) {
      at++;
      if (view === undefined || at < nextRun) continue;
      at = skipPlain(view, at, stop);
      nextRun = at + RUN_BYTES;
    } else if (byte === QUOTE) {
      return at + 1;
    } else {
      if (byte !== BACKSLASH) return NO_TOKEN;
      at = skipEscape(bytes, at);
      if (at === NO_TOKEN) return NO_TOKEN;
    }
  }
  return at < length ? unfinishedAt(at) : NO_TOKEN;
}

const RUN_BYTES = 8;

/** Skips plain characters of a string, eight bytes at a time, which costs half of skipping each. */
function skipPlain(view: DataView, start: number, stop: number): number {
  let at = start;
  for (; at + RUN_BYTES <= stop; at += RUN_BYTES) {
    const stops = stopsIn(view.getInt32(at, true)) |
      stopsIn(view.getInt32(at + 4, true));
    if (stops !== 0) return at;
  }
  return at;
}

/**
 * Returns 0 if none of four bytes ends a run of plain characters. A bit is set where a byte is below 0x20, or would be 0 but for a
 * quote or a backslash; see "Determine if a word has a byte less than n" in Anderson's Bit Twiddling Hacks.
 */
function stopsIn(word: number): number {
  const quotes = word ^ 0x22222222;
  const backslashes = word ^ 0x5c5c5c5c;
  return (((word - 0x20202020) & ~word) |
    ((quotes - 0x01010101) & ~quotes) |
    ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080;
}

/** Returns the result for a token that goes on at an index, and of that result the index. */
export function unfinishedAt(at: number): number {
  return -2 - at;
}

function skipEscape(bytes: Uint8Array, start: number): number {
  const kind = bytes[start + 1] ?? 0;
  if (escapes[kind] === 1) return start + 2;
  if (kind !== 0x75 || start + 6 > bytes.length) return NO_TOKEN;
  for (let at = start + 2; at < start + 6; at++) {
    if (hexDigits[bytes[at] ?? 0] === 0) return NO_TOKEN;
  }
  return start + 6;
}

/** Skips a number. */
function skipNumber(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  at = bytes[at] === ZERO ? at + 1 : skipDigits(bytes, at);
  if (at !== NO_TOKEN && bytes[at] === DOT) at = skipDigits(bytes, at + 1);
  if (at === NO_TOKEN || ((bytes[at] ?? 0) | 0x20) !== 0x65) return at;
  const sign = bytes[at + 1];
  return skipDigits(bytes, at + (sign === 0x2b || sign === MINUS ? 2 : 1));
}

/** Skips one or more digits. */
function skipDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  while (digits[bytes[at] ?? 0] === 1) at++;
  return at > start ? at : NO_TOKEN;
}

/** Skips `true`, `false` or `null`. */
function skipLiteral(bytes: Uint8Array, start: number): number {
  const literal = literals.find(([first]) => first === bytes[start]);
  if (literal === undefined) return NO_TOKEN;
  for (let i = 1; i < literal.length; i++) {
    if (bytes[start + i] !== literal[i]) return NO_TOKEN;
  }
  return start + literal.length;
}

const literals = ["true", "false", "null"].map((text) =>
  new TextEncoder().encode(text)
);

/** Skips a string, number or literal. */
export function skipScalar(
  bytes: Uint8Array,
  start: number,
  kind: number,
): number {
  return kind === KIND.STRING
    ? skipString(bytes, start)
    : kind === KIND.NUMBER
    ? skipNumber(bytes, start)
    : kind === KIND.LITERAL
    ? skipLiteral(bytes, start)
    : NO_TOKEN;
}

/** Integers of so few characters are exact unless they have an exponent. */
const SHORT_NUMBER_LENGTH = 15;
/** Longer numbers are never exact. */
const MAX_NUMBER_LENGTH = 40;
/** Number of significant digits that every double keeps (IEEE 754). */
const MAX_DIGITS = 17;

/**
 * Returns whether a double holds the number exactly, so that servers with doubles, 64-bit integers and decimals read the same: not for
 * `9007199254740993` or `1e999`.
 */
export function isExactNumber(text: string): boolean {
  if (text.length > MAX_NUMBER_LENGTH) return false;
  const shortLength = text.includes(".") ? MAX_DIGITS + 1 : SHORT_NUMBER_LENGTH;
  if (text.length <= shortLength && !/[eE]/.test(text)) return true;
  const value = Number(text);
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(value);
  const mantissa = text.replace(/[eE].*$/, "").replace(/[-.]/g, "");
  const significant = mantissa.replace(/^0+|0+$/g, "");
  const isUnderflow = value === 0 && significant !== "";
  return Number.isFinite(value) && !isUnderflow &&
    significant.length <= MAX_DIGITS;
}

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}
