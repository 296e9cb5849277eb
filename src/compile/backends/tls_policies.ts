import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import type { UpstreamTls } from "../../http/client/upstream.ts";
import type { Backend } from "../../snapshot/backend.ts";
import { loadCa } from "../resolve/certificates.ts";
import { comparePrecedence, namespacedName } from "../resolve/precedence.ts";
import { UnresolvedReferenceError } from "../resolve/references.ts";
import type { BackendContext } from "./backend_compilation.ts";

/** TLS settings by the target of their policy, such as `Service/default/web#https`. */
export type TlsByTarget = ReadonlyMap<string, Backend["tls"]>;

/** Compiles the TLS settings of backends and services, in steps. Of two policies with a target, the older applies. */
export function* compileTlsPolicies(
  { backendTlsPolicies, gatewayBackends }: ResourceSet,
  context: BackendContext,
): Generator<void, TlsByTarget> {
  const known = new Set(gatewayBackends.map(namespacedName));
  const owners = new Map<string, BackendTlsPolicy>();
  const tls = new Map<string, Backend["tls"]>();
  for (const policy of backendTlsPolicies.toSorted(comparePrecedence)) {
    const compiled = context.tlsMemory.recall(
      policy,
      () => compileTls(policy, context),
    );
    for (const { key, path } of targetsOf(policy, known, context)) {
      const owner = owners.get(key);
      if (owner !== undefined) {
        const message = `Cannot apply to ${key}: BackendTLSPolicy "${
          namespacedName(owner)
        }" takes precedence`;
        context.report.warning(policy, { path, message, reason: "Conflicted" });
        continue;
      }
      owners.set(key, policy);
      tls.set(key, compiled);
    }
    yield;
  }
  return tls;
}

interface Target {
  readonly key: string;
  readonly path: DiagnosticPath;
}

/** Returns the targets of a policy, with the paths of the references. */
function targetsOf(
  policy: BackendTlsPolicy,
  known: ReadonlySet<string>,
  { references: { services }, report }: BackendContext,
): Target[] {
  const { namespace } = policy.metadata;
  return policy.spec.targetRefs.flatMap((ref, index) => {
    const { group, kind, name, sectionName } = ref;
    const path = ["spec", "targetRefs", index];
    const isService = kind === "Service" && group === "";
    if (!isService && kind !== "GatewayBackend") {
      const message =
        `Cannot apply to kind "${kind}": expected "GatewayBackend" or "Service"`;
      report.warning(policy, {
        path: [...path, "kind"],
        message,
        reason: "Invalid",
      });
      return [];
    }
    const candidates = isService ? services : known;
    const key = `${namespace}/${name}`;
    if (!candidates.has(key)) {
      const message = `Cannot find ${
        isService ? "Service" : "backend"
      } "${key}"`;
      const suggestion = report.suggest(
        name,
        () =>
          [...candidates.keys()].filter((each) =>
            each.startsWith(`${namespace}/`)
          )
            .map((each) => each.slice(namespace.length + 1)),
      );
      report.warning(policy, {
        path: [...path, "name"],
        message,
        suggestion,
        reason: "TargetNotFound",
      });
      return [];
    }
    const section = isService && sectionName !== undefined
      ? `#${sectionName}`
      : "";
    return [{ key: `${kind}/${key}${section}`, path }];
  });
}

/** One invalid reference invalidates the policy: "Connections using an invalid CACertificateRef MUST fail" (Gateway API). */
function compileTls(
  policy: BackendTlsPolicy,
  context: BackendContext,
): UpstreamTls | "invalid" {
  const { hostname, caCertificateRefs, subjectAltNames } =
    policy.spec.validation;
  const caCertificates = caCertificateRefs?.map((reference, index) => {
    try {
      return loadCa(reference, policy, context.inputs);
    } catch (error) {
      const path = ["spec", "validation", "caCertificateRefs", index];
      const message =
        `Cannot use CA certificate, so every connection to the backend fails: ${
          describeError(error)
        }`;
      const reason = error instanceof UnresolvedReferenceError &&
          error.reason === "UnknownKind"
        ? "InvalidKind"
        : "InvalidCACertificateRef";
      context.report.warning(policy, { path, message, reason });
      return undefined;
    }
  });
  if (caCertificates?.includes(undefined)) return "invalid";
  return {
    hostname,
    subjectAltNames: (subjectAltNames ?? []).map((name) =>
      name.type === "Hostname" ? name.hostname : name.uri
    ),
    caCertificates: caCertificates?.filter((pem) => pem !== undefined),
  };
}
