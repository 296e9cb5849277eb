import { formatNumber } from "../../base/log/log_text.ts";
import { canonicalAddress } from "../../base/wire/bind_address.ts";
import { expectAddress, expectRange, isAddress, isRange } from "./addresses.ts";
import { type ExpressionFunction, toJsonValue, type Value } from "./library.ts";
import { jsonValue } from "./values.ts";

/** The gateway's own functions. They convert between strings and UTF-8 bytes as necessary. */
export const expressionFunctions: readonly ExpressionFunction[] = [
  { name: "json", call: parseJson },
  { name: "toJson", call: (value) => toJsonText(value) },
  { name: "base64.encode", call: (value) => bytesOf(value).toBase64() },
  { name: "base64.decode", call: decodeBase64 },
  { name: "url.encode", call: (value) => encodeURIComponent(textOf(value)) },
  { name: "url.decode", call: decodeUrl },
  {
    name: "ip",
    call: (value) => canonicalAddress(expectAddress(textOf(value))),
  },
  { name: "isIP", call: (value) => isAddress(textOf(value)) },
  { name: "cidr", call: (value) => expectRange(textOf(value)) },
  { name: "isCIDR", call: (value) => isRange(textOf(value)) },
];

/**
 * Serializes a value as JSON.
 * @throws {TypeError} For values without a JSON form, such as timestamps.
 */
export function toJsonText(value: unknown): string {
  return typeof value === "number" && Number.isFinite(value)
    ? formatNumber(value)
    : JSON.stringify(toJsonValue(value));
}

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

/** Limits for `JSON.parse`, which then takes at most 10 ms. `jsonValue` limits the values themselves. */
const MAX_PUNCTUATION = 50_000;
const MAX_NAMES = 10_000;

function parseJson(value: unknown): Value {
  const text = textOf(value);
  const names = countWrittenNames(text);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new TypeError("the string is not JSON");
  }
  if (countKeptNames(json) === names) return jsonValue(json);
  throw new TypeError("the string is JSON with a duplicate member");
}

/**
 * Counts the members of the objects in a JSON text.
 * @throws {RangeError} When it has too many values.
 */
function countWrittenNames(text: string): number {
  let names = 0;
  let punctuation = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COLON) names++;
    else if (code === COMMA || code === BRACE || code === BRACKET) {
      punctuation++;
    } else continue;
    if (names > MAX_NAMES || punctuation > MAX_PUNCTUATION) {
      throw new RangeError("the string is JSON with too many values");
    }
  }
  return names;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;

/** Returns the index of the quote that ends the string, or of the end of the text. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    at += code === BACKSLASH ? 2 : 1;
  }
  return at;
}

/** Counts the members that are left after parsing; without recursion, since the client controls the depth. */
function countKeptNames(json: unknown): number {
  let names = 0;
  const open: unknown[] = [json];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    const items = Object.values(next);
    if (!Array.isArray(next)) names += items.length;
    for (const item of items) open.push(item);
  }
  return names;
}

/** Decodes both alphabets, with or without padding. */
function decodeBase64(value: unknown): Value {
  const text = textOf(value).replaceAll("-", "+").replaceAll("_", "/");
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    throw new TypeError("the string is not base64");
  }
}

function decodeUrl(value: unknown): Value {
  try {
    return decodeURIComponent(textOf(value));
  } catch {
    throw new TypeError("the string is not percent-encoded UTF-8");
  }
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!(value instanceof Uint8Array)) throw notText();
  try {
    return decoder.decode(value);
  } catch {
    throw new TypeError("the value is not UTF-8");
  }
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string") return encoder.encode(value);
  throw notText();
}

function notText(): TypeError {
  return new TypeError("expected a string or bytes");
}
