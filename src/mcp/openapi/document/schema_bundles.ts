import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import {
  DocumentError,
  type OpenApiDocument,
  placeOf,
  segmentsOf,
} from "./openapi_document.ts";

/** Arguments of tools, or their results. */
export type SchemaUse = "input" | "output";

/** Keywords with a schema, with a list of schemas, and with schemas by name. */
const one: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
  "contentSchema",
]);
const many: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "prefixItems",
]);
const named: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
]);

/** Keywords that say nothing about values, or only within an OpenAPI document. */
const dropped: ReadonlySet<string> = new Set([
  "$anchor",
  "$comment",
  "$defs",
  "$dynamicAnchor",
  "$id",
  "$schema",
  "definitions",
  "discriminator",
  "example",
  "examples",
  "externalDocs",
  "nullable",
  "readOnly",
  "writeOnly",
  "xml",
]);

/**
 * Keywords of schemas of results. Clients reject results that break the schema, and APIs are less strict than their documents: new values
 * of an `enum`, members that are missing. So only those are kept that say what to expect.
 */
const descriptive: ReadonlySet<string> = new Set([
  "$ref",
  "additionalProperties",
  "allOf",
  "anyOf",
  "deprecated",
  "description",
  "items",
  "oneOf",
  "prefixItems",
  "properties",
  "title",
  "type",
]);

/** A converted schema and the definitions that it needs. */
interface Converted {
  readonly schema: unknown;
  readonly bytes: number;
  readonly references: ReadonlySet<string>;
}

const MAX_DEFINITIONS = 200;
const base64 = { type: "string", contentEncoding: "base64" };
const stub = { description: "Not described here." };

/** Converts schemas of a document to JSON Schema 2020-12; definitions are shared, so that a large document stays as small as it is. */
export class SchemaBundles {
  readonly #document: OpenApiDocument;
  readonly #definitions = new Map<string, Converted>();
  /** Names of definitions by reference. */
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /**
   * Returns a schema with the definitions that it needs as `$defs`. Those that are furthest away are stubs if all have more than
   * `maxBytes`.
   * @param build Creates the schema, and passes schemas of the document to `convert`.
   */
  bundle(
    use: SchemaUse,
    maxBytes: number,
    build: (convert: (schema: unknown, place: string) => unknown) => JsonObject,
  ): JsonObject {
    const references = new Set<string>();
    const schema = build((value, place) =>
      this.#convert(value, place, use, references)
    );
    const definitions: Record<string, unknown> = {};
    let left = maxBytes - JSON.stringify(schema).length;
    // The set grows while it is iterated over: the nearest come first.
    for (const reference of references) {
      const { schema, bytes, references: more } = this.#define(reference, use);
      const fits = bytes <= left &&
        Object.keys(definitions).length < MAX_DEFINITIONS;
      definitions[this.#nameOf(reference)] = fits ? schema : stub;
      left -= fits ? bytes : 0;
      if (fits) { for (const each of more) references.add(each); }
    }
    return references.size === 0 ? schema : { ...schema, $defs: definitions };
  }

  #define(reference: string, use: SchemaUse): Converted {
    const key = `${use} ${reference}`;
    return this.#definitions.getOrInsertComputed(key, () => {
      const references = new Set<string>();
      const value = this.#document.find(reference, reference);
      const schema = this.#convert(value, reference, use, references);
      return { schema, bytes: JSON.stringify(schema).length, references };
    });
  }

  #convert(
    value: unknown,
    place: string,
    use: SchemaUse,
    references: Set<string>,
  ): unknown {
    if (typeof value === "boolean") {
      return value || use === "input" ? value : {};
    }
    if (!isJsonObject(value)) {
      this.#document.report(place, "not a schema");
      return {};
    }
    const nested = (inner: unknown, ...names: readonly string[]) =>
      this.#convert(inner, placeOf(place, ...names), use, references);
    const converted: Record<string, unknown> = {};
    for (const [keyword, inner] of Object.entries(value)) {
      if (dropped.has(keyword) || keyword.startsWith("x-")) continue;
      if (use === "output" && !descriptive.has(keyword)) continue;
      if (keyword === "$ref") {
        const reference = this.#refer(inner, place, references);
        if (reference !== undefined) converted["$ref"] = reference;
      } else if (named.has(keyword) && isJsonObject(inner)) {
        converted[keyword] = Object.fromEntries(
          Object.entries(inner)
            .filter(([, each]) => !isHidden(each, use))
            .map(([name, each]) => [name, nested(each, keyword, name)]),
        );
      } else if (many.has(keyword) && Array.isArray(inner)) {
        converted[keyword] = inner.map((each, index) =>
          nested(each, keyword, String(index))
        );
      } else if (one.has(keyword) && isSchema(inner)) {
        converted[keyword] = nested(inner, keyword);
      } else converted[keyword] = inner;
    }
    if (use === "output") return loosened(converted);
    return isBinary(value)
      ? { ...converted, ...base64 }
      : withRequired(converted, value);
  }

  #refer(
    reference: unknown,
    place: string,
    references: Set<string>,
  ): string | undefined {
    try {
      if (typeof reference !== "string") {
        throw new DocumentError(`${place}: "$ref" is not a string`);
      }
      this.#document.find(reference, place);
      references.add(reference);
      return `#/$defs/${this.#nameOf(reference)}`;
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      this.#document.report(place, error.message);
      return undefined;
    }
  }

  #nameOf(reference: string): string {
    return this.#names.getOrInsertComputed(reference, () => {
      const last = segmentsOf(reference).at(-1) ?? "";
      const plain = last.replace(/[^A-Za-z0-9._-]+/g, "_") || "schema";
      let name = plain;
      for (let count = 2; this.#taken.has(name); count++) {
        name = `${plain}_${count}`;
      }
      this.#taken.add(name);
      return name;
    });
  }
}

/** Reports whether values are bytes, which arguments have as base64. */
export function isBinary(
  { type, format, contentMediaType, contentEncoding }: JsonObject,
): boolean {
  return format === "binary" ||
    contentMediaType === "application/octet-stream" &&
      contentEncoding === undefined &&
      (type === undefined || type === "string");
}

function isSchema(value: unknown): boolean {
  return isJsonObject(value) || typeof value === "boolean";
}

/** Reports whether a property is for the other direction only. */
function isHidden(schema: unknown, use: SchemaUse): boolean {
  const flag = use === "input" ? "readOnly" : "writeOnly";
  return isJsonObject(schema) && schema[flag] === true;
}

/** Drops names of properties that are not there from `required`. */
function withRequired(converted: JsonObject, source: JsonObject): JsonObject {
  const { required } = converted;
  const { properties } = source;
  if (!Array.isArray(required)) {
    // In a parameter or property, it is a boolean of OpenAPI before 3.0.
    const { required: _, ...rest } = converted;
    return rest;
  }
  const kept = required.filter((name) =>
    typeof name === "string" &&
    !(isJsonObject(properties) && isHidden(properties[name], "input"))
  );
  return { ...converted, required: kept };
}

/** Lets a schema of results accept `null` and members that are not described, and several schemas of `oneOf` at once. */
function loosened(
  { type, oneOf, additionalProperties, ...rest }: JsonObject,
): JsonObject {
  const anyOf = oneOf ?? rest["anyOf"];
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  return {
    ...(types.length > 0 &&
      { type: types.includes("null") ? types : [...types, "null"] }),
    ...rest,
    ...(anyOf !== undefined && { anyOf }),
    ...(isJsonObject(additionalProperties) && { additionalProperties }),
  };
}
