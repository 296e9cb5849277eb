import type { ResourceSet } from "../../api/resources/resource_set.ts";
import { routePhaseKinds } from "../../policy/registry.ts";

/** Loads the code of the policies that `resources` have, which `compile` needs. */
export async function loadPolicies(
  { gatewayPolicies }: Pick<ResourceSet, "gatewayPolicies">,
): Promise<void> {
  const used = new Set(
    gatewayPolicies.flatMap(({ spec: { traffic = {}, backend = {} } }) => [
      ...Object.keys(traffic),
      ...Object.keys(backend),
    ]),
  );
  // Every kind runs in the route phase.
  for (const kind of routePhaseKinds) {
    if (used.has(kind.kind)) await kind.load?.();
  }
}
