import type { GatewayPolicy } from "../../api/resources/gateway_policy.ts";
import type { PolicyBackendRef } from "../../api/policies/jwt_schema.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import { suggestBackend } from "../routes/compile_backends.ts";
import type { Report } from "../report.ts";

/**
 * Reports key backends that do not exist, for their policies would refuse every request, those that forgot TLS, and references to a
 * port that the backend does not have.
 */
export function checkKeyBackends(
  { gatewayPolicies }: ResourceSet,
  backends: ReadonlyMap<string, Backend>,
  report: Report,
): void {
  for (const policy of gatewayPolicies) {
    const { providers = [] } = policy.spec.traffic?.jwtAuthentication ?? {};
    for (const [index, { jwks }] of providers.entries()) {
      const ref = jwks.remote?.backendRef;
      if (ref !== undefined) checkRef(policy, index, ref, { backends, report });
    }
  }
}

function checkRef(
  policy: GatewayPolicy,
  index: number,
  ref: PolicyBackendRef,
  { backends, report }: {
    readonly backends: ReadonlyMap<string, Backend>;
    readonly report: Report;
  },
): void {
  const key = `${ref.namespace ?? policy.metadata.namespace}/${ref.name}`;
  const pathTo = (field: "name" | "port") => [
    ...["spec", "traffic", "jwtAuthentication", "providers", index],
    ...["jwks", "remote", "backendRef", field],
  ];
  const path = pathTo("name");
  const backend = backends.get(key);
  if (backend === undefined) {
    const message = `Cannot find backend "${key}"`;
    const suggestion = suggestBackend(ref.name, backends, report);
    return report.error(policy, { path, message, suggestion });
  }
  if (backend.port === 443 && backend.tls === undefined) {
    const message =
      `Cannot trust keys in plain text: port 443 of backend "${key}" has no TLS policy`;
    report.warning(policy, { path, message });
  }
  if (ref.port !== undefined && ref.port !== backend.port) {
    const message =
      `Backend "${key}" has no port ${ref.port}; its own is used all the same`;
    const suggestion = String(backend.port);
    report.warning(policy, { path: pathTo("port"), message, suggestion });
  }
}
