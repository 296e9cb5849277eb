import type { GenericSchema } from "./schema.ts";

/** A JSON Schema (draft 2020-12) as plain data; keywords that the resource schemas use are typed. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  /** Reference such as `#/$defs/Match`. */
  readonly $ref?: string;
  readonly $defs?: JsonDefinitions;
  readonly then?: JsonSchema;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly properties?: JsonDefinitions;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

/** Schemas by name. */
export type JsonDefinitions = Readonly<Record<string, JsonSchema>>;

/**
 * Converts `schemas` to JSON Schema definitions that refer to one another. Omits rules that JSON Schema cannot express.
 * Loads the converter on first use.
 */
export async function toJsonDefinitions(
  schemas: Readonly<Record<string, GenericSchema>>,
): Promise<JsonDefinitions> {
  const { toJsonSchemaDefs } = await import("@valibot/to-json-schema");
  const definitions = toJsonSchemaDefs({ ...schemas }, {
    typeMode: "input",
    errorMode: "ignore",
    target: "draft-2020-12",
  });
  return share(definitions) as JsonDefinitions;
}

/** Replaces repeated definitions by references: the converter inlines a definition whose use has its own description. */
function share(definitions: object): unknown {
  const names = new Map(
    Object.entries(definitions).map((
      [name, schema],
    ) => [contentOf(schema), name]),
  );
  const visit = (value: unknown, depth: number): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      return value.map((item) => visit(item, depth + 1));
    }
    // The definitions themselves are at depth 1.
    const name = depth > 1 ? names.get(contentOf(value)) : undefined;
    if (name !== undefined) {
      const { description, default: fallback } = value as JsonSchema;
      return { $ref: `#/$defs/${name}`, description, default: fallback };
    }
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, visit(item, depth + 1)]),
    );
  };
  return visit(definitions, 0);
}

/** Serializes a schema for comparison, without description and default. */
function contentOf(schema: object): string {
  return JSON.stringify({
    ...schema,
    description: undefined,
    default: undefined,
  });
}
