import {
  type GatewayPolicy,
  INLINE_ANNOTATION,
} from "../../api/resources/gateway_policy_schema.ts";
import {
  GATEWAY_API_GROUP,
  policyApiVersion,
} from "../../api/resources/group.ts";
import {
  DEFAULT_NAMESPACE,
  generatedName,
  type Placed,
  type ShortItem,
} from "../placed.ts";
import type { ShortPolicy, ShortRoute } from "./short_form.ts";

/** Expands `policies[]` to a `GatewayPolicy`. */
export function expandPolicy(
  { value, path, document }: ShortItem<ShortPolicy>,
): Placed<GatewayPolicy> {
  const { name, ...spec } = value;
  return {
    document,
    resource: {
      apiVersion: policyApiVersion,
      kind: "GatewayPolicy",
      metadata: { name, namespace: DEFAULT_NAMESPACE },
      spec,
    },
    origins: [{ at: [], from: path, whole: true }, {
      at: ["spec"],
      from: path,
    }],
  };
}

/** Expands `routes[].policies` to a `GatewayPolicy`. */
export function expandInlinePolicy(
  { value: { policies }, path, document }: ShortItem<ShortRoute>,
  name: string,
): readonly Placed<GatewayPolicy>[] {
  if (policies === undefined) return [];
  return [{
    document,
    resource: {
      apiVersion: policyApiVersion,
      kind: "GatewayPolicy",
      metadata: {
        name: generatedName(name, "policies"),
        namespace: DEFAULT_NAMESPACE,
        annotations: { [INLINE_ANNOTATION]: "true" },
      },
      spec: {
        targetRefs: [{ group: GATEWAY_API_GROUP, kind: "HTTPRoute", name }],
        traffic: policies,
      },
    },
    origins: [
      { at: [], from: [...path, "policies"], whole: true },
      { at: ["spec", "traffic"], from: [...path, "policies"] },
    ],
  }];
}
