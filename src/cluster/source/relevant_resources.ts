import type { HttpRoute } from "../../api/resources/http_route.ts";
import {
  resourceKey,
  type ResourceSet,
} from "../../api/resources/resource_set.ts";

const routeKinds: readonly string[] = ["HTTPRoute", "GRPCRoute"];
const gatewayKinds: readonly string[] = ["Gateway", "ListenerSet"];

/**
 * Leaves out routes and policies of other gateways than those of the set, with which a proxy of one gateway has nothing to do.
 * A policy keeps the targets that are left.
 */
export function relevantResources(set: ResourceSet): ResourceSet {
  const parents = new Set(
    [...set.gateways, ...set.listenerSets].map(resourceKey),
  );
  const httpRoutes = set.httpRoutes.filter((route) =>
    parentsOf(route).some((key) => parents.has(key))
  );
  const targets = new Set([...parents, ...httpRoutes.map(resourceKey)]);
  return {
    ...set,
    httpRoutes,
    gatewayPolicies: set.gatewayPolicies.flatMap((policy) => {
      const { namespace } = policy.metadata;
      const targetRefs = policy.spec.targetRefs.filter(({ kind, name }) => {
        const isOther = !routeKinds.includes(kind) &&
          !gatewayKinds.includes(kind);
        return isOther ||
          targets.has(resourceKey({ kind, metadata: { namespace, name } }));
      });
      return targetRefs.length === 0
        ? []
        : [{ ...policy, spec: { ...policy.spec, targetRefs } }];
    }),
  };
}

function parentsOf({ metadata, spec }: HttpRoute): readonly string[] {
  return spec.parentRefs.map((
    { kind, name, namespace = metadata.namespace },
  ) => resourceKey({ kind, metadata: { namespace, name } }));
}
