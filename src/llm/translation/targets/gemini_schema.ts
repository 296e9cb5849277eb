import { isJsonObject, type JsonObject } from "../../../base/json.ts";

/** Keywords without a meaning for a model, or that Gemini has none like; ai.google.dev, 2026-08-22. */
const unknown: ReadonlySet<string> = new Set([
  "$comment",
  "$schema",
  "discriminator",
  "examples",
  "propertyNames",
]);

/** Keywords by those that Gemini has in their place. */
const similar: ReadonlyMap<string, string> = new Map([
  ["exclusiveMinimum", "minimum"],
  ["exclusiveMaximum", "maximum"],
]);

/** Members with schemas by name, which are no keywords. */
const named: ReadonlySet<string> = new Set(["$defs", "properties"]);
/** Members with values of the client. */
const values: ReadonlySet<string> = new Set(["default", "enum"]);

/** Writes a schema with the keywords that Gemini knows. */
export function toGeminiSchema(schema: JsonObject): JsonObject {
  const members = Object.entries(schema).flatMap(([name, value]) => {
    if (unknown.has(name)) return [];
    if (name === "const") return [["enum", [value]] as const];
    const known = similar.get(name);
    // Draft 4 has a flag beside the limit.
    if (known !== undefined && typeof value !== "number") return [];
    return [[known ?? name, convert(name, value)] as const];
  });
  return Object.fromEntries(members);
}

function convert(name: string, value: unknown): unknown {
  if (values.has(name)) return value;
  if (Array.isArray(value)) return value.map((each) => convert("", each));
  if (!isJsonObject(value)) return value;
  if (!named.has(name)) return toGeminiSchema(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, convert("", each)]),
  );
}
