import type { ResourceSet } from "../../api/resources/resource_set.ts";
import { routePhaseKinds } from "../../policy/registry.ts";
import { loadPatternsOf } from "../routes/check_patterns.ts";

/** Loads the code that `compile` needs for the policies and regular expressions of `resources`. */
export async function loadPolicies(
  { gatewayPolicies, httpRoutes }: Pick<
    ResourceSet,
    "gatewayPolicies" | "httpRoutes"
  >,
): Promise<void> {
  await loadPatternsOf({ httpRoutes });
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
