import type { ClientCertificate } from "../../http/client/upstream.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type {
  CompiledListener,
  Forwarding,
} from "../policies/compiled_rules.ts";
import { namespacedName } from "../resolve/precedence.ts";

/** Returns the forwarding of a rule by a gateway that presents a certificate to backends with TLS. */
export function presenting(
  clientCertificate: ClientCertificate | undefined,
  forwarding: Forwarding,
): Forwarding {
  if (clientCertificate === undefined) return forwarding;
  const present = (backend: Backend): Backend => {
    const { tls } = backend;
    return tls === undefined || tls === "invalid"
      ? backend
      : { ...backend, tls: { ...tls, clientCertificate } };
  };
  return {
    ...forwarding,
    backends: forwarding.backends.map((each) => ({
      ...each,
      backend: each.backend && present(each.backend),
    })),
    mirrors: forwarding.mirrors.map((each) => ({
      ...each,
      backend: present(each.backend),
    })),
  };
}

/** Returns the backends that get a client certificate, by a key for each gateway. */
export function presentingBackends(
  listeners: readonly CompiledListener[],
): ReadonlyMap<string, Backend> {
  const found = new Map<string, Backend>();
  for (const { site: { gateway }, rules } of listeners) {
    if (gateway.spec.tls?.backend === undefined) continue;
    for (const { route: { backends, mirrors } } of rules) {
      for (const { backend } of [...backends, ...mirrors]) {
        if (backend === undefined) continue;
        found.set(`${backend.key} from ${namespacedName(gateway)}`, backend);
      }
    }
  }
  return found;
}
