import type { ResourceSet } from "../api/resource_set.ts";
import { nearest } from "../api/suggest.ts";
import type { Backend } from "../snapshot/snapshot.ts";
import type { Report } from "./report.ts";

/** Reports key backends that do not exist: their policies would refuse every request. */
export function checkKeyBackends(
  { gatewayPolicies }: ResourceSet,
  backends: ReadonlyMap<string, Backend>,
  report: Report,
): void {
  for (const policy of gatewayPolicies) {
    const { providers = [] } = policy.spec.traffic?.jwtAuthentication ?? {};
    for (const [index, { jwks }] of providers.entries()) {
      const ref = jwks.remote?.backendRef;
      if (ref === undefined) continue;
      const namespace = ref.namespace ?? policy.metadata.namespace;
      const key = `${namespace}/${ref.name}`;
      if (backends.has(key)) continue;
      const known = [...backends.values()].map(({ name }) => name);
      report.error(
        policy,
        [
          ...["spec", "traffic", "jwtAuthentication", "providers", index],
          ...["jwks", "remote", "backendRef", "name"],
        ],
        `Cannot find backend "${key}"`,
        nearest(ref.name, known),
      );
    }
  }
}
