import { isJsonObject } from "../../base/json.ts";
import { entriesAt, isSchema, type SchemaNode } from "./schema_node.ts";

/**
 * Returns a copy of a value without the fields that have their default.
 * @param path Where the value is in one of `schema`; what the schema does not know is copied as it is.
 */
export function withoutDefaults(
  schema: SchemaNode,
  path: readonly (string | number)[],
  value: unknown,
): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => withoutDefaults(schema, [...path, 0], item));
  }
  if (!isJsonObject(value)) return value;
  const alternatives = entriesAt(schema, path);
  const fields = Object.entries(value).filter(([name, field]) =>
    !alternatives.some((entries) => isDefault(entries[name], field))
  );
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name,
      withoutDefaults(schema, [...path, name], field),
    ]),
  );
}

function isDefault(schema: unknown, value: unknown): boolean {
  if (!isSchema(schema)) return false;
  const { pipe = [], wrapped } = schema;
  if ("default" in schema && schema.default !== undefined) {
    return JSON.stringify(schema.default) === JSON.stringify(value);
  }
  return [...pipe, wrapped].some((part) =>
    part !== schema && isDefault(part, value)
  );
}
