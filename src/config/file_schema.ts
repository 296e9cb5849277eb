import {
  backendFilterSchema,
  headerModifierSchema,
  httpFilterSchema,
  pathModifierSchema,
  requestRedirectSchema,
  shortFilterSchema,
  urlRewriteSchema,
} from "../api/resources/http_filter.ts";
import { corsSchema } from "../api/policies/cors_schema.ts";
import { trafficSchema } from "../api/resources/gateway_policy.ts";
import { httpMatchSchema } from "../api/resources/http_match.ts";
import {
  routeRetrySchema,
  routeTimeoutsSchema,
} from "../api/resources/http_route.ts";
import {
  type JsonSchema,
  toJsonDefinitions,
} from "../api/schema/json_schema.ts";
import { metadataSchema } from "../api/resources/resource.ts";
import { kindSchemas } from "../api/resources/resource_set.ts";
import { shortFormSchema, shortTlsSchema } from "./short_form/short_form.ts";

/** Schemas that occur in several places and are defined once. */
const partSchemas = {
  Match: httpMatchSchema,
  Filter: shortFilterSchema,
  HTTPRouteFilter: httpFilterSchema,
  BackendFilter: backendFilterSchema,
  Traffic: trafficSchema,
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

/**
 * Returns the JSON Schema (draft 2020-12) for editors of one document of a configuration file, in either form.
 * It does not know `${NAME}` references: editors mark one in place of a number as invalid.
 */
export async function fileSchema(): Promise<JsonSchema> {
  const definitions = await toJsonDefinitions({
    ShortForm: shortFormSchema,
    ...kindSchemas,
    ...partSchemas,
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
