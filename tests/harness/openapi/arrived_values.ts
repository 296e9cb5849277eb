/** Reads values as a server does that knows the styles of OpenAPI (3.1.1 section 4.8.12.3, RFC 6570). */
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";

/** Rules of a document for how a value is written. */
export interface Style {
  readonly name: string;
  readonly style: string;
  readonly explode: boolean;
}

/** A name and a value, with the encoding of the value. */
export type RawPair = readonly [name: string, raw: string];

/** Returns what a server reads for a value: primitive values as strings, `null` as missing. Only deep objects have values in values. */
export function textsOf(value: unknown, style: string): unknown {
  if (style === "json") return value;
  if (!isComposite(value)) return textOf(value);
  const inner = style === "deepObject"
    ? (each: unknown) => textsOf(each, style)
    : textOf;
  if (Array.isArray(value)) return value.map(inner);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== undefined && each !== null)
      .map(([name, each]) => [name, inner(each)]),
  );
}

/**
 * Takes a value from the pairs of a query, a form or cookies.
 * @param sample Has the type that the server expects.
 * @param pairs Those that are read are removed.
 */
export function takePairs(
  { name, style, explode }: Style,
  sample: unknown,
  pairs: RawPair[],
): unknown {
  const take = (isWanted: (name: string) => boolean): readonly RawPair[] => {
    const taken = pairs.filter(([each]) => isWanted(each));
    pairs.splice(0, pairs.length, ...pairs.filter(([each]) => !isWanted(each)));
    return taken;
  };
  if (style === "deepObject" && isComposite(sample)) {
    return deepValue(name, take((each) => each.startsWith(`${name}[`)));
  }
  if (explode && isJsonObject(sample) && style !== "json") {
    return Object.fromEntries(
      take((each) => Object.hasOwn(sample, each))
        .map(([key, raw]) => [key, decode(raw)]),
    );
  }
  const raws = take((each) => each === name).map(([, raw]) => raw);
  if (explode && Array.isArray(sample) && style !== "json") {
    return raws.map(decode);
  }
  const [raw, ...others] = raws;
  if (raw === undefined || others.length > 0) return raws;
  if (style === "json") return JSON.parse(decode(raw));
  const separator = { spaceDelimited: /%20|\+/, pipeDelimited: /%7C|\|/i }[
    style
  ] ?? ",";
  return unfolded(raw.split(separator), false, sample, decode);
}

/** Reads a value of a path. */
export function pathValue(
  { name, style, explode }: Style,
  sample: unknown,
  raw: string,
): unknown {
  if (style === "json") return JSON.parse(decode(raw));
  if (style === "label") {
    const items = raw.slice(1).split(explode ? "." : ",");
    return unfolded(items, explode, sample, decode);
  }
  if (style !== "matrix") {
    return unfolded(raw.split(","), explode, sample, decode);
  }
  const parts = raw.slice(1).split(";");
  const isObject = explode && isJsonObject(sample);
  const items = isObject ? parts : parts.map((part) => {
    if (!part.startsWith(`${name}=`)) throw new Error(`"${part}" has no name`);
    return part.slice(name.length + 1);
  });
  return explode
    ? unfolded(items, true, sample, decode)
    : unfolded((items[0] ?? "").split(","), false, sample, decode);
}

/** Reads a value of a header field, which has no encoding. */
export function headerValue(
  { style, explode }: Style,
  sample: unknown,
  raw: string,
): unknown {
  if (style === "json") return JSON.parse(raw);
  const items = isComposite(sample) ? raw.split(",") : [raw];
  return unfolded(items, explode, sample, (text) => text);
}

function unfolded(
  items: readonly string[],
  explode: boolean,
  sample: unknown,
  read: (text: string) => string,
): unknown {
  if (Array.isArray(sample)) return items.map(read);
  if (!isJsonObject(sample)) return items.map(read).join(",");
  const flat = explode
    ? items.flatMap((item) => [
      item.slice(0, item.indexOf("=")),
      item.slice(item.indexOf("=") + 1),
    ])
    : items;
  const entries = flat.flatMap((key, at) =>
    at % 2 === 0 ? [[read(key), read(flat[at + 1] ?? "")]] : []
  );
  return Object.fromEntries(entries);
}

/** Reads names such as `a[b][c]`, `a[b][]` and `a[0][b]`, as `qs` does. */
function deepValue(name: string, pairs: readonly RawPair[]): unknown {
  const tree: Record<string, unknown> = {};
  for (const [key, raw] of pairs) {
    const segments = key.slice(name.length + 1, -1).split("][");
    let node = tree;
    segments.forEach((segment, at) => {
      const own = segment === "" ? String(Object.keys(node).length) : segment;
      if (at === segments.length - 1) node[own] = decode(raw);
      else {
        const inner = node[own] ?? {};
        if (!isRecord(inner)) throw new Error(`"${key}" is an object and not`);
        node[own] = inner;
        node = inner;
      }
    });
  }
  return withLists(tree);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return isJsonObject(value);
}

function withLists(node: unknown): unknown {
  if (!isJsonObject(node)) return node;
  const names = Object.keys(node);
  return names.every((name, at) => name === String(at))
    ? names.map((name) => withLists(node[name]))
    : Object.fromEntries(names.map((name) => [name, withLists(node[name])]));
}

/** Splits a query, a form or cookies. */
export function rawPairs(text: string, separator: string): RawPair[] {
  return text.split(separator).filter((pair) => pair !== "").map((pair) => {
    const at = pair.indexOf("=");
    return [decode(pair.slice(0, at)), pair.slice(at + 1)];
  });
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isComposite(value: unknown): value is JsonObject | readonly unknown[] {
  return typeof value === "object" && value !== null;
}
