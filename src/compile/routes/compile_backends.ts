import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import { optionalDuration } from "../../api/schema/duration.ts";
import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import type { UpstreamTls } from "../../http/client/upstream.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import { comparePrecedence, namespacedName } from "../precedence.ts";
import {
  loadPem,
  nameOfPem,
  parseCertificates,
  type ReadFile,
} from "../listeners/certificates.ts";
import type { Report } from "../report.ts";

/** Compiles every backend with the TLS policy that applies to it, in steps; returns them by their key. */
export function* compileBackends(
  { gatewayBackends, backendTlsPolicies }: ResourceSet,
  readFile: ReadFile,
  report: Report,
): Generator<void, ReadonlyMap<string, Backend>> {
  const known = new Map(
    gatewayBackends.map((backend) => [namespacedName(backend), backend]),
  );
  const owners = new Map<string, BackendTlsPolicy>();
  const tls = new Map<string, Backend["tls"]>();
  for (const policy of backendTlsPolicies.toSorted(comparePrecedence)) {
    const compiled = compileTls(policy, readFile, report);
    for (const { key, path } of targetsOf(policy, known, report)) {
      const owner = owners.get(key);
      if (owner !== undefined) {
        const message = `Cannot apply to backend "${key}": BackendTLSPolicy "${
          namespacedName(owner)
        }" takes precedence`;
        report.warning(policy, { path, message });
        continue;
      }
      owners.set(key, policy);
      tls.set(key, compiled);
    }
    yield;
  }
  const backends = new Map<string, Backend>();
  for (const [key, resource] of known) {
    backends.set(key, compileBackend(resource, tls.get(key)));
    yield;
  }
  return backends;
}

/** Suggests the backend that was probably intended by an unknown name. */
export function suggestBackend(
  name: string,
  backends: ReadonlyMap<string, Backend>,
  report: Report,
): string | undefined {
  return report.suggest(
    name,
    () => [...backends.values()].map(({ name }) => name),
  );
}

interface Target {
  readonly key: string;
  readonly path: DiagnosticPath;
}

function compileBackend(
  { metadata, spec }: GatewayBackend,
  tls: Backend["tls"],
): Backend {
  return {
    key: namespacedName({ metadata }),
    name: metadata.name,
    host: spec.static.host,
    port: spec.static.port,
    protocol: spec.protocol === undefined ? "auto" : protocols[spec.protocol],
    tls,
    maxConnections: spec.limits?.maxConnections,
    maxPendingRequests: spec.limits?.maxPendingRequests,
    connectTimeoutMs: optionalDuration(spec.timeouts?.connect),
    // `0s` means unlimited.
    idleTimeoutMs: optionalDuration(spec.timeouts?.idle) || undefined,
  };
}

const protocols = { HTTP1: "http1", HTTP2: "http2" } as const;

/** Returns the keys of the backends that a policy targets, with the paths of the references. */
function targetsOf(
  policy: BackendTlsPolicy,
  known: ReadonlyMap<string, GatewayBackend>,
  report: Report,
): Target[] {
  const { namespace } = policy.metadata;
  const listNames = () =>
    [...known.values()].map(({ metadata }) => metadata)
      .filter((metadata) => metadata.namespace === namespace)
      .map(({ name }) => name);
  return policy.spec.targetRefs.flatMap(({ kind, name }, index) => {
    const path = ["spec", "targetRefs", index];
    if (kind !== "GatewayBackend") {
      const message =
        `Cannot apply to kind "${kind}": expected "GatewayBackend"`;
      report.warning(policy, { path: [...path, "kind"], message });
      return [];
    }
    const key = `${namespace}/${name}`;
    if (!known.has(key)) {
      const message = `Cannot find backend "${key}"`;
      const suggestion = report.suggest(name, listNames);
      report.warning(policy, { path: [...path, "name"], message, suggestion });
      return [];
    }
    return [{ key, path }];
  });
}

/** One invalid reference invalidates the policy: "Connections using an invalid CACertificateRef MUST fail" (Gateway API). */
function compileTls(
  policy: BackendTlsPolicy,
  readFile: ReadFile,
  report: Report,
): UpstreamTls | "invalid" {
  const { hostname, caCertificateRefs, subjectAltNames } =
    policy.spec.validation;
  const caCertificates = caCertificateRefs?.map((reference, index) => {
    try {
      return loadCa(reference, readFile);
    } catch (error) {
      const path = ["spec", "validation", "caCertificateRefs", index];
      const message =
        `Cannot use CA certificate, so every connection to the backend fails: ${
          describeError(error)
        }`;
      report.warning(policy, { path, message });
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

type CaReference = NonNullable<
  BackendTlsPolicy["spec"]["validation"]["caCertificateRefs"]
>[number];

function loadCa(
  { file, inline, kind = "ConfigMap", name }: CaReference,
  readFile: ReadFile,
): string {
  const source = inline ?? file;
  if (source === undefined) {
    throw new TypeError(`${kind} "${name}" is not available here`);
  }
  const pem = loadPem(source, readFile);
  parseCertificates(pem, nameOfPem(source));
  return pem;
}
