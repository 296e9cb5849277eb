import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type { ValueStyle } from "../document/rest_tool.ts";

/** Arguments that cannot be sent; the message is for the model. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";
}

/** A name and a value of a form or a query, not encoded. */
export type Pair = readonly [name: string, value: string];

declare global {
  interface JSON {
    /** Reports whether a value is the exact text of a number. */
    isRawJSON(value: unknown): boolean;
  }
}

const separators: Readonly<Partial<Record<ValueStyle["style"], string>>> = {
  spaceDelimited: " ",
  pipeDelimited: "|",
};

/** Returns a value as a string: primitive ones as they are, others as JSON. */
export function plainText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Reports whether a value has parts; large numbers are objects that have none. */
function isComposite(
  value: unknown,
): value is JsonObject | readonly unknown[] {
  return typeof value === "object" && value !== null &&
    !JSON.isRawJSON(value);
}

/**
 * Returns the names and values of a query, a cookie or a form (OpenAPI 3.1 section 4.8.12.3). `null` and missing values are left out.
 * @param encode Of each value, before those of a list are joined with a separator.
 */
export function pairsOf(
  name: string,
  value: unknown,
  { style, explode }: ValueStyle,
  encode: (text: string) => string,
): readonly Pair[] {
  if (value === undefined || value === null) return [];
  const isJson = style === "json" ||
    style === "content" && isJsonObject(value);
  if (isJson) return [[name, encode(JSON.stringify(value))]];
  if (!isComposite(value)) return [[name, encode(plainText(value))]];
  if (style === "deepObject") return deepPairs(name, value, encode);
  if (Array.isArray(value)) {
    const texts = value.map((item) => encode(plainText(item)));
    if (explode) {
      return texts.map((text): Pair => [name, text]);
    }
    const separator = separators[style];
    const joined = separator === undefined ? "," : encode(separator);
    return [[name, texts.join(joined)]];
  }
  const entries = entriesOf(value);
  if (explode) {
    return entries.map(([key, item]): Pair => [key, encode(plainText(item))]);
  }
  const separator = separators[style];
  const joined = separator === undefined ? "," : encode(separator);
  return [[
    name,
    entries.flatMap(([key, item]) => [encode(key), encode(plainText(item))])
      .join(joined),
  ]];
}

/**
 * Names of nested values are those that `qs` and Rack read: `a[b][c]`, and `a[b][]` for items of lists. Items that have parts are
 * numbered, `a[0][b]`, so that their parts stay together.
 */
function deepPairs(
  name: string,
  value: JsonObject | readonly unknown[],
  encode: (text: string) => string,
): readonly Pair[] {
  const isFlat = Array.isArray(value) && !value.some(isComposite);
  return entriesOf(value).flatMap(([key, item]): readonly Pair[] =>
    isComposite(item)
      ? deepPairs(`${name}[${key}]`, item, encode)
      : [[`${name}[${isFlat ? "" : key}]`, encode(plainText(item))]]
  );
}

/**
 * Returns a value as a part of a path (RFC 6570 sections 3.2.2, 3.2.5 and 3.2.7), or as a header field.
 * @param encode Of each value.
 */
export function simpleText(
  name: string,
  value: unknown,
  { style, explode }: ValueStyle,
  encode: (text: string) => string,
): string {
  if (style === "json") return encode(JSON.stringify(value));
  const isList = Array.isArray(value);
  const items = !isComposite(value)
    ? [encode(plainText(value))]
    : isList
    ? value.map((item) => encode(plainText(item)))
    : entriesOf(value).flatMap(([key, item]) =>
      explode
        ? [`${encode(key)}=${encode(plainText(item))}`]
        : [encode(key), encode(plainText(item))]
    );
  if (style === "label") return `.${items.join(explode ? "." : ",")}`;
  if (style !== "matrix") return items.join(",");
  if (!explode || !isComposite(value)) return `;${name}=${items.join(",")}`;
  return items.map((item) => isList ? `;${name}=${item}` : `;${item}`).join("");
}

function entriesOf(value: object): readonly (readonly [string, unknown])[] {
  return Object.entries(value).filter(([, item]) =>
    item !== undefined && item !== null
  );
}
