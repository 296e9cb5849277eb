import { type ExpressionFunction, toJsonValue, type Value } from "./library.ts";
import { jsonValue } from "./values.ts";

/** The gateway's own functions. Texts stand for their UTF-8 bytes and, where it is asked for, the other way round. */
export const expressionFunctions: readonly ExpressionFunction[] = [
  { name: "json", call: parseJson },
  { name: "toJson", call: (value) => toJsonText(value) },
  { name: "base64.encode", call: (value) => bytesOf(value).toBase64() },
  { name: "base64.decode", call: decodeBase64 },
  { name: "url.encode", call: (value) => encodeURIComponent(textOf(value)) },
  { name: "url.decode", call: decodeUrl },
];

/**
 * The JSON text of a value.
 * @throws {TypeError} For what JSON has no form of, such as timestamps.
 */
export function toJsonText(value: unknown): string {
  return JSON.stringify(toJsonValue(value));
}

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

function parseJson(value: unknown): Value {
  let json: unknown;
  try {
    json = JSON.parse(textOf(value));
  } catch {
    throw new TypeError("the text is no JSON");
  }
  return jsonValue(json);
}

/** Both alphabets, with or without padding. */
function decodeBase64(value: unknown): Value {
  const text = textOf(value).replaceAll("-", "+").replaceAll("_", "/");
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    throw new TypeError("the text is no base64");
  }
}

function decodeUrl(value: unknown): Value {
  try {
    return decodeURIComponent(textOf(value));
  } catch {
    throw new TypeError("the text is no percent-encoded UTF-8");
  }
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!(value instanceof Uint8Array)) throw notText();
  try {
    return decoder.decode(value);
  } catch {
    throw new TypeError("the value is no UTF-8");
  }
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string") return encoder.encode(value);
  throw notText();
}

function notText(): TypeError {
  return new TypeError("expected a text or bytes");
}
