import { isJsonObject, type JsonObject } from "../../../base/json.ts";

/** Members whose values are the client's own, not of the API. */
const own: ReadonlySet<string> = new Set([
  "args",
  "parameters",
  "parametersJsonSchema",
  "response",
  "responseJsonSchema",
  "responseSchema",
]);

/** Gives the members of a request one spelling: Google accepts `function_call` for `functionCall`. */
export function camelKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelKeys);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const name = key.replace(
        /_([a-z])/g,
        (_, letter) => letter.toUpperCase(),
      );
      return [name, own.has(name) ? each : camelKeys(each)];
    }),
  );
}

/** Converts a schema of Google, with types in capitals and `nullable`, to JSON Schema. */
export function toJsonSchema(schema: JsonObject): JsonObject {
  const { nullable, ...rest } = schema;
  const type = rest["type"];
  const lower = typeof type === "string" ? type.toLowerCase() : type;
  return {
    ...Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [name, convert(name, value)]),
    ),
    ...(lower !== undefined && {
      type: nullable === true ? [lower, "null"] : lower,
    }),
  };
}

/** Members with schemas by name. */
const named: ReadonlySet<string> = new Set(["properties", "$defs"]);
/** Members with values, which are no schemas. */
const values: ReadonlySet<string> = new Set(["enum", "default", "example"]);

function convert(name: string, value: unknown): unknown {
  if (values.has(name)) return value;
  if (Array.isArray(value)) {
    return value.map((each) => isJsonObject(each) ? toJsonSchema(each) : each);
  }
  if (!isJsonObject(value)) return value;
  if (!named.has(name)) return toJsonSchema(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      isJsonObject(each) ? toJsonSchema(each) : each,
    ]),
  );
}
