import {
  routeRetrySchema,
  routeTimeoutsSchema,
} from "../../api/resources/http_route.ts";
import type { GenericSchema } from "../../api/schema/schema.ts";
import { type JsonValue, toJson } from "../../base/json.ts";
import type { PolicyKind } from "../../policy/contract/policy_kind.ts";
import type { DescribePolicies } from "../../snapshot/snapshot.ts";
import type { Redact, RedactionFor } from "../../api/redact_configuration.ts";
import type { PolicyLayer } from "../policies/compiled_rules.ts";

/** A field of `spec.traffic` as traces show it. */
export type DescribedField = Pick<PolicyKind, "name" | "schema" | "selection">;

/** Fields that apply to a route and are no policy of their own. */
export const routeFields: readonly DescribedField[] = [
  field("timeouts", "timeout", routeTimeoutsSchema),
  field("retry", "retry", routeRetrySchema),
];

function field(
  name: string,
  shown: string,
  schema: GenericSchema,
): DescribedField {
  return { name, schema, selection: { [shown]: (config) => config } };
}

/** The configurations of one field, the least specific first. */
export interface ConfiguredField {
  readonly name: string;
  readonly layers: readonly Pick<PolicyLayer, "traffic">[];
}

/**
 * Returns a function that describes the policies of a phase on its first call, and never again.
 * @param fields All that the phase could have; those that it has not are `null`.
 */
export type DescribeLater = (
  configured: readonly ConfiguredField[],
  fields: readonly DescribedField[],
) => DescribePolicies;

/** Creates the descriptions of policies of one configuration. */
export function createDescriptions(redactionFor: RedactionFor): DescribeLater {
  return (configured, fields) => {
    let known: Readonly<Record<string, JsonValue>> | undefined;
    return (sensitiveHeaders) =>
      known ??= describeFields(
        configured,
        fields,
        redactionFor(sensitiveHeaders),
      );
  };
}

function describeFields(
  configured: readonly ConfiguredField[],
  fields: readonly DescribedField[],
  redact: Redact,
): Readonly<Record<string, JsonValue>> {
  const shown: Record<string, JsonValue> = {};
  for (const { name, schema, selection } of fields) {
    const layers = configured.find((each) => each.name === name)?.layers ?? [];
    const configs = layers.map(({ traffic }) => redact(schema, traffic[name]));
    for (const [label, part] of Object.entries(selection)) {
      const parts = configs.map(part).filter((config) => config !== undefined)
        .map((config) => toJson(config));
      const [only = null, ...others] = parts;
      shown[label] = others.length === 0 ? only : parts;
    }
  }
  return shown;
}
