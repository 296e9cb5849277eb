import type { GenericSchema } from "./schema.ts";

/** A JSON Schema, draft 2020-12, as plain data. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * JSON Schema of what each of `schemas` accepts, as definitions that refer to one another.
 * Rules that JSON Schema cannot state are left out. Loads its package on first use.
 */
export async function toJsonDefinitions(
  schemas: Readonly<Record<string, GenericSchema>>,
): Promise<Readonly<Record<string, JsonSchema>>> {
  const { toJsonSchemaDefs } = await import("@valibot/to-json-schema");
  return toJsonSchemaDefs({ ...schemas }, {
    typeMode: "input",
    errorMode: "ignore",
    target: "draft-2020-12",
  }) as unknown as Readonly<Record<string, JsonSchema>>;
}
