import type { ResourceSet } from "../api/resources/resource_set.ts";
import type { PolicyRegistry } from "../policy/contract/policy_registry.ts";
import { loadHashKeys } from "./backends/compile_balancing.ts";
import { loadPatternsOf } from "./routes/check_patterns.ts";

/** Loads the code that `compile` needs for the policies, backends and regular expressions of `resources`. */
export async function loadPolicies(
  { gatewayBackends, gatewayPolicies, httpRoutes }: Pick<
    ResourceSet,
    "gatewayBackends" | "gatewayPolicies" | "httpRoutes"
  >,
  policies: PolicyRegistry,
): Promise<void> {
  await loadPatternsOf({ httpRoutes });
  await loadHashKeys(gatewayBackends);
  const used = new Set(
    gatewayPolicies.flatMap(({ spec: { traffic = {}, backend = {} } }) => [
      ...Object.keys(traffic),
      ...Object.keys(backend),
    ]),
  );
  for (const kind of policies.kinds) {
    if (used.has(kind.name)) await kind.load();
  }
}
