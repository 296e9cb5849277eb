import { type JsonSchema, toJsonDefinitions } from "../api/json_schema.ts";
import { kindSchemas } from "../api/resource_set.ts";
import { shortFormSchema } from "./short_form.ts";

/**
 * JSON Schema (draft 2020-12) of one document of a configuration file, in either form, for editors.
 * `${NAME}` references are not known to it: a number written as one is marked by an editor.
 */
export async function fileSchema(): Promise<JsonSchema> {
  const definitions = await toJsonDefinitions({
    ShortForm: shortFormSchema,
    ...kindSchemas,
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Gateway configuration",
    type: "object",
    if: { required: ["kind"] },
    then: {
      properties: { kind: { enum: Object.keys(kindSchemas) } },
      allOf: Object.keys(kindSchemas).map((kind) => ({
        if: { properties: { kind: { const: kind } } },
        then: { $ref: `#/$defs/${kind}` },
      })),
    },
    else: { $ref: "#/$defs/ShortForm" },
    $defs: definitions,
  };
}
