import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { Gateway } from "../../api/resources/gateway_resource.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import type {
  ClientCertificate,
  UpstreamTls,
} from "../../http/client/upstream.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type {
  CompiledListener,
  Forwarding,
} from "../policies/compiled_rules.ts";
import {
  loadCa,
  pairWithKey,
  parseLeaf,
  readSecret,
} from "../resolve/certificates.ts";
import type { Problem } from "../memory/report.ts";
import {
  comparePrecedence,
  namespacedName,
  namesWithin,
} from "../resolve/precedence.ts";
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

/** Returns the targets of a policy, with the paths of the references; warns about those that cannot be used. */
function targetsOf(
  policy: BackendTlsPolicy,
  known: ReadonlySet<string>,
  { references: { services }, report }: BackendContext,
) {
  const prefix = `${policy.metadata.namespace}/`;
  return policy.spec.targetRefs.flatMap((ref, index) => {
    const { group, kind, name, sectionName } = ref;
    const path: DiagnosticPath = ["spec", "targetRefs", index];
    const warn = (field: keyof typeof ref, problem: Omit<Problem, "path">) => {
      report.warning(policy, { path: [...path, field], ...problem });
      return [];
    };
    const isService = kind === "Service" && group === "";
    if (!isService && kind !== "GatewayBackend") {
      const message =
        `Cannot apply to kind "${kind}": expected "GatewayBackend" or "Service"`;
      return warn("kind", { message, reason: "Invalid" });
    }
    const candidates = isService ? services : known;
    if (!candidates.has(prefix + name)) {
      const noun = isService ? "Service" : "backend";
      const suggestion = report.suggest(
        name,
        () => namesWithin(policy.metadata.namespace, candidates.keys()),
      );
      const message = `Cannot find ${noun} "${prefix}${name}"`;
      return warn("name", { message, suggestion, reason: "TargetNotFound" });
    }
    const section = isService && sectionName !== undefined
      ? `#${sectionName}`
      : "";
    return [{ key: `${kind}/${prefix}${name}${section}`, path }];
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

/** Reads the certificates that gateways present to backends (`tls.backend`); reports those that cannot be used, and leaves them out. */
export function readClientCertificates(
  { gateways }: ResourceSet,
  context: BackendContext,
): ReadonlyMap<Gateway, ClientCertificate> {
  return new Map(
    gateways.filter(({ spec: { tls } }) => tls?.backend !== undefined)
      .flatMap((gateway) => {
        const certificate = context.certificateMemory.recall(
          gateway,
          () => readCertificate(gateway, context),
        );
        return certificate === undefined ? [] : [[gateway, certificate]];
      }),
  );
}

function readCertificate(
  gateway: Gateway,
  { inputs, report }: BackendContext,
): ClientCertificate | undefined {
  const reference = gateway.spec.tls?.backend?.clientCertificateRef;
  if (reference === undefined) return undefined;
  try {
    const { cert, key } = readSecret(gateway, reference, inputs);
    pairWithKey(parseLeaf(cert, "the Secret"), cert, key);
    return { cert, key };
  } catch (error) {
    report.error(gateway, {
      path: ["spec", "tls", "backend", "clientCertificateRef"],
      message: `Cannot use the client certificate, so backends get none: ${
        describeError(error)
      }`,
      reason: error instanceof UnresolvedReferenceError &&
          error.reason === "NotPermitted"
        ? "RefNotPermitted"
        : "InvalidClientCertificateRef",
    });
    return undefined;
  }
}

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
