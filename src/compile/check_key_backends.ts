import type { ResourceSet } from "../api/resource_set.ts";
import type { Backend } from "../snapshot/snapshot.ts";
import { suggestBackend } from "./backends.ts";
import type { Report } from "./report.ts";

/** Reports key backends that do not exist, for their policies would refuse every request, and those that forgot TLS. */
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
      const path = [
        ...["spec", "traffic", "jwtAuthentication", "providers", index],
        ...["jwks", "remote", "backendRef", "name"],
      ];
      const backend = backends.get(key);
      if (backend === undefined) {
        const message = `Cannot find backend "${key}"`;
        const suggestion = suggestBackend(ref.name, backends, report);
        report.error(policy, { path, message, suggestion });
      } else if (backend.port === 443 && backend.tls === undefined) {
        const message =
          `Cannot trust keys in plain text: port 443 of backend "${key}" has no TLS policy`;
        report.warning(policy, { path, message });
      }
    }
  }
}
