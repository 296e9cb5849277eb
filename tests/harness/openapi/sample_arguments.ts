import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";

/** Returns a number from 0 to below 1. */
export type Random = () => number;

/** Mulberry32: the same numbers for the same seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Strings with the characters that encodings have to care for. */
const free = ["plain", "a b", "x&y=z", "50%+1", "a/b?c#d", "grün €", '"q"\\;'];
/** For places whose separators have no encoding: commas of header fields, spaces and bars of some queries, dots of labels. */
const fieldTexts = ["plain", "x&y=z", "50%+1", "a/b?c#d"];
/** Begins the content of files, and of strings that stay base64. */
const FILE = "content of a file ";
const ENCODED = "encoded content ";
const MAX_DEPTH = 5;
const MAX_PROPERTIES = 12;

/** Creates values for JSON Schemas of tools. */
export class SampleArguments {
  readonly #random: Random;
  readonly #definitions: JsonObject;
  readonly #texts: readonly string[];

  /** @param hasBareSeparators True if encoded values can look like separators. */
  constructor(
    random: Random,
    { $defs }: JsonObject,
    hasBareSeparators: boolean,
  ) {
    this.#random = random;
    this.#definitions = isJsonObject($defs) ? $defs : {};
    this.#texts = hasBareSeparators ? fieldTexts : free;
  }

  /** Returns a value that a schema allows in its types, enums and properties; formats and lengths are not kept. */
  create(schema: unknown, depth = 0): unknown {
    if (!isJsonObject(schema)) return this.#text();
    const { $ref, allOf, anyOf, oneOf } = schema;
    if (typeof $ref === "string") {
      const name = $ref.slice("#/$defs/".length);
      return this.create(this.#definitions[name], depth + 1);
    }
    if ("const" in schema) return schema["const"];
    if (Array.isArray(schema["enum"])) {
      const known = schema["enum"].filter((each) => each !== null);
      return known.length === 0 ? null : this.#pick(known);
    }
    const choices = anyOf ?? oneOf;
    const chosen = Array.isArray(choices)
      ? [this.#pick(choices.filter((each) => !isNull(each)))]
      : [];
    const parts = [...Array.isArray(allOf) ? allOf : [], ...chosen];
    if (parts.length === 0) return this.#ofType(schema, depth);
    return this.#merge(
      parts.map((part) => this.create(part, depth)),
      schema,
      depth,
    );
  }

  #merge(values: readonly unknown[], schema: JsonObject, depth: number) {
    const own = isJsonObject(schema["properties"])
      ? [this.#ofType(schema, depth)]
      : [];
    const all = [...values, ...own];
    return all.every(isJsonObject)
      ? Object.assign({}, ...all)
      : all.find((each) => !isJsonObject(each));
  }

  #ofType(schema: JsonObject, depth: number): unknown {
    const { items, properties, type } = schema;
    const known = [type].flat().find((each) => each !== "null") ??
      (isJsonObject(properties) ? "object" : "string");
    switch (known) {
      case "array":
        return Array.from(
          { length: 1 + Math.floor(this.#random() * 3) },
          () => this.create(items, depth + 1),
        );
      case "object":
        return this.#object(schema, depth);
      case "boolean":
        return this.#random() < 0.5;
      case "integer":
        return Math.floor(this.#random() * 1000);
      case "number":
        return Math.floor(this.#random() * 1000) / 8;
      default:
        return schema["contentEncoding"] === "base64"
          ? btoa(`${isBinary(schema) ? FILE : ENCODED}${this.#random()}`)
          : this.#text();
    }
  }

  /** All properties of outer objects; of inner ones those that are required, so that values stay small. */
  #object({ properties, required }: JsonObject, depth: number): JsonObject {
    const needed = new Set(Array.isArray(required) ? required : []);
    const entries = Object.entries(isJsonObject(properties) ? properties : {})
      .filter(([name]) => depth <= 1 || needed.has(name))
      .slice(0, MAX_PROPERTIES);
    if (depth > MAX_DEPTH || entries.length === 0) {
      return { key: this.#text() };
    }
    return Object.fromEntries(
      entries.map(([name, schema]) => [name, this.create(schema, depth + 1)]),
    );
  }

  #text(): string {
    return this.#pick(this.#texts);
  }

  #pick<T>(choices: readonly T[]): T {
    const chosen = choices[Math.floor(this.#random() * choices.length)];
    if (chosen === undefined) throw new Error("Nothing to choose from");
    return chosen;
  }
}

function isNull(schema: unknown): boolean {
  return isJsonObject(schema) && schema["type"] === "null";
}

/** Reports whether an argument has base64 in place of bytes: a document with `format: byte` wants base64 in requests too. */
function isBinary({ format, contentMediaType }: JsonObject): boolean {
  return format === "binary" || contentMediaType !== undefined;
}

/** Reports whether a value is a sample of a file, of which the API gets the bytes. */
export function isFile(value: unknown): boolean {
  return typeof value === "string" && value.startsWith(btoa(FILE));
}
