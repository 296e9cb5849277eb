import {
  backendFilterSchema,
  headerModifierSchema,
  httpFilterSchema,
  pathModifierSchema,
  requestRedirectSchema,
  shortFilterSchema,
  urlRewriteSchema,
} from "../api/resources/http_filter.ts";
import { corsSchema } from "../api/resources/cors_filter.ts";
import type { PolicySchemas } from "../api/resources/gateway_policy_schema.ts";
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

/**
 * Returns the JSON Schema (draft 2020-12) for editors of one document of a configuration file, in either form.
 * It does not know `${NAME}` references: editors mark one in place of a number as invalid.
 */
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
