import {
  backendFilterSchema,
  headerModifierSchema,
  httpFilterSchema,
  pathModifierSchema,
  requestRedirectSchema,
  shortFilterSchema,
  urlRewriteSchema,
} from "../api/rules/http_filter.ts";
import { corsSchema } from "../api/rules/cors_filter.ts";
import type { PolicySchemas } from "../api/resources/gateway_policy_schema.ts";
import { httpMatchSchema } from "../api/rules/http_match.ts";
import {
  routeRetrySchema,
  routeTimeoutsSchema,
} from "../api/resources/http_route.ts";
import {
  type JsonDefinitions,
  type JsonSchema,
  toJsonDefinitions,
} from "../api/schema/json_schema.ts";
import { metadataSchema } from "../api/resources/resource.ts";
import {
  createKindSchemas,
  type KindSchemas,
} from "../api/resources/resource_set.ts";
import {
  createShortForm,
  type ShortFormSchemas,
  shortTlsSchema,
} from "./short_form/short_form.ts";

/** Schemas of a configuration file, in either form. */
export interface FileSchemas {
  readonly policies: PolicySchemas;
  readonly kinds: KindSchemas;
  readonly short: ShortFormSchemas;
}

/** Creates the schemas of a configuration file that has these kinds of policies. */
export function createFileSchemas(policies: PolicySchemas): FileSchemas {
  return {
    policies,
    kinds: createKindSchemas(policies),
    short: createShortForm(policies),
  };
}

/** Schemas that occur in several places and are defined once. */
const partSchemas = {
  Match: httpMatchSchema,
  Filter: shortFilterSchema,
  HTTPRouteFilter: httpFilterSchema,
  BackendFilter: backendFilterSchema,
  CORS: corsSchema,
  HeaderModifier: headerModifierSchema,
  URLRewrite: urlRewriteSchema,
  RequestRedirect: requestRedirectSchema,
  PathModifier: pathModifierSchema,
  Timeouts: routeTimeoutsSchema,
  Retry: routeRetrySchema,
  BackendTLS: shortTlsSchema,
  Metadata: metadataSchema,
};

/** Returns the JSON Schema (draft 2020-12) of one document of a configuration file, in either form, without `${NAME}` references. */
export async function fileSchema(
  { policies, kinds, short }: FileSchemas,
): Promise<JsonSchema> {
  const { Match, Filter, HTTPRouteFilter, BackendFilter, ...others } =
    partSchemas;
  const definitions = await toJsonDefinitions({
    ShortForm: short.whole,
    ...kinds,
    ...{ Match, Filter, HTTPRouteFilter, BackendFilter },
    Traffic: policies.traffic,
    ...others,
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Gateway configuration",
    type: "object",
    if: { required: ["kind"] },
    then: {
      properties: { kind: { enum: Object.keys(kinds) } },
      allOf: Object.keys(kinds).map((kind) => ({
        if: { properties: { kind: { const: kind } } },
        then: { $ref: `#/$defs/${kind}` },
      })),
    },
    else: { $ref: "#/$defs/ShortForm" },
    $defs: definitions,
  };
}

/** Keywords whose members are schemas, and those with lists of schemas; conditions (`if`) stay as they are. */
const schemaMaps = ["properties", "$defs"];
const schemaLists = ["anyOf", "oneOf", "allOf"];
const schemaMembers = ["items", "additionalProperties", "then", "else"];

/** Returns the schema for editors: it accepts a reference, such as `${PORT:-3000}`, in place of any value that is not fixed. */
export function withReferences(schema: JsonSchema): JsonSchema {
  return {
    ...admitReferences(schema),
    $defs: {
      ...mapValues(schema.$defs ?? {}, admitReferences),
      Reference: {
        description: "Text with the value of an environment variable.",
        type: "string",
        pattern: "\\$\\{",
      },
    },
  };
}

function admitReferences(schema: JsonSchema): JsonSchema {
  const changed = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (schemaMaps.includes(keyword) && isSchema(value)) {
        return [keyword, mapValues(value, admitReferences)];
      }
      if (schemaLists.includes(keyword) && Array.isArray(value)) {
        return [
          keyword,
          value.map((each) => isSchema(each) ? admitReferences(each) : each),
        ];
      }
      return schemaMembers.includes(keyword) && isSchema(value)
        ? [keyword, admitReferences(value)]
        : [keyword, value];
    }),
  );
  if (!isLimited(schema)) return changed;
  const { title, description, default: fallback } = schema;
  const { title: _1, description: _2, default: _3, ...rest } = changed;
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
    anyOf: [rest, { $ref: "#/$defs/Reference" }],
  };
}

/** Reports whether a schema of a number, boolean or string would reject a reference. */
function isLimited({ type, const: fixed, ...rules }: JsonSchema): boolean {
  if (fixed !== undefined) return false;
  if (type === "integer" || type === "number" || type === "boolean") {
    return true;
  }
  const isText = type === "string" || rules.enum !== undefined;
  return isText &&
    ["enum", "pattern", "format", "maxLength", "allOf", "anyOf"]
      .some((rule) => Object.hasOwn(rules, rule));
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mapValues(
  schemas: JsonSchema,
  change: (schema: JsonSchema) => JsonSchema,
): JsonDefinitions {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) =>
      [name, isSchema(schema) ? change(schema) : {}] as const
    ),
  );
}
