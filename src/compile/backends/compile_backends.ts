import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import { optionalDuration } from "../../api/schema/duration.ts";
import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import type { UpstreamTls } from "../../http/client/upstream.ts";
import type { Backend, Endpoint } from "../../snapshot/backend.ts";
import { comparePrecedence, namespacedName } from "../resolve/precedence.ts";
import { loadCa } from "../resolve/certificates.ts";
import { UnresolvedReferenceError } from "../resolve/references.ts";
import {
  type BackendContext,
  findDeniedHost,
  type InvalidBackend,
  loopbackPortsOf,
} from "./backend_context.ts";
import {
  compileBalancing,
  compileHealthCheck,
  compileLookups,
  compileTimeouts,
} from "./compile_balancing.ts";
import { compileCredentials } from "./compile_credentials.ts";
import { UnusableCredentials } from "./credential_values.ts";
import { compileLlm } from "./llm_backends.ts";
import { backendsOf, compileMcp } from "./mcp_backends.ts";
import {
  compileService,
  referencedServicePorts,
  serviceBackendKey,
} from "./service_backends.ts";

/** Backends by their key. */
export interface CompiledBackends {
  readonly backends: ReadonlyMap<string, Backend>;
  /** Those that exist and cannot be used, each with the reason if its host is denied; their errors are reported. */
  readonly invalidBackends: ReadonlyMap<string, string | undefined>;
}

/** Compiles every backend, and every service that routes refer to, with the TLS policy that applies, in steps. */
export function* compileBackends(
  { gatewayBackends, backendTlsPolicies, httpRoutes }: ResourceSet,
  context: BackendContext,
): Generator<void, CompiledBackends> {
  const known = new Map(
    gatewayBackends.map((backend) => [namespacedName(backend), backend]),
  );
  const tls = yield* compileTlsPolicies(backendTlsPolicies, known, context);
  const backends = new Map<string, Backend>();
  const invalidBackends = new Map<string, string | undefined>();
  for (const [key, resource] of known) {
    const own = tls.get(`GatewayBackend/${key}`);
    const compile = () => compileBackend(resource, own, context);
    const backend = context.backendMemory.recallFrom(
      key,
      [resource, own],
      compile,
    );
    if ("denial" in backend) invalidBackends.set(key, backend.denial);
    else addBackend(backend, backends);
    yield;
  }
  const { references } = context;
  for (
    const referenced of referencedServicePorts(httpRoutes, references)
  ) {
    const { service, port, isGrpc } = referenced;
    const key = `Service/${namespacedName(service)}`;
    const section = port.name === undefined
      ? undefined
      : tls.get(`${key}#${port.name}`);
    const own = section ?? tls.get(key);
    const name = serviceBackendKey(namespacedName(service), port.port);
    const inputs = [service, port, isGrpc, own];
    const compile = () => compileService(referenced, own);
    const backend = context.backendMemory.recallFrom(name, inputs, compile);
    if (!("denial" in backend)) backends.set(name, backend);
    yield;
  }
  return { backends, invalidBackends };
}

/** Adds a backend, and those of its MCP servers. */
function addBackend(backend: Backend, backends: Map<string, Backend>): void {
  backends.set(backend.key, backend);
  for (const { transport } of backend.mcp?.servers ?? []) {
    for (const own of backendsOf(transport)) backends.set(own.key, own);
  }
}

/** Returns the TLS settings by target, such as `Service/default/web#https`. Of two policies with a target, the older applies. */
function* compileTlsPolicies(
  policies: readonly BackendTlsPolicy[],
  known: ReadonlyMap<string, GatewayBackend>,
  context: BackendContext,
): Generator<void, ReadonlyMap<string, Backend["tls"]>> {
  const owners = new Map<string, BackendTlsPolicy>();
  const tls = new Map<string, Backend["tls"]>();
  for (const policy of policies.toSorted(comparePrecedence)) {
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

function compileBackend(
  resource: GatewayBackend,
  tls: Backend["tls"],
  context: BackendContext,
): Backend | InvalidBackend {
  const { metadata, spec } = resource;
  const { endpoints: hosts = spec.static && [spec.static], llm, mcp } = spec;
  const [first] = hosts ?? [];
  const address = llm !== undefined
    ? compileLlm(resource, llm, tls, context)
    : mcp !== undefined
    ? compileMcp(resource, mcp, context)
    : first && compileHost(resource, first, tls, context);
  const denied = findDeniedHost(resource, context.inputs);
  if (denied !== undefined) {
    const message = `Cannot connect to "${denied.host}": ${denied.denial}`;
    context.report.error(resource, { path: denied.path, message });
    return { denial: denied.denial };
  }
  const loopbackPorts = loopbackPortsOf(hosts, context.inputs);
  const balancing = compileBalancing(resource, context.report);
  if (address === undefined) return { denial: undefined };
  const healthCheck = compileHealthCheck(spec.healthCheck, address);
  return {
    ...address,
    ...(hosts && hosts.length > 1 && { hosts }),
    ...(balancing && { balancing }),
    ...(healthCheck && { healthCheck }),
    ...(spec.dns && { lookups: compileLookups(spec.dns) }),
    ...(loopbackPorts.length > 0 && { loopbackPorts }),
    key: namespacedName({ metadata }),
    name: metadata.name,
    protocol: spec.protocol === undefined ? "auto" : protocols[spec.protocol],
    maxConnections: spec.limits?.maxConnections,
    maxPendingRequests: spec.limits?.maxPendingRequests,
    connectTimeoutMs: optionalDuration(spec.timeouts?.connect),
    ...compileTimeouts(spec.timeouts, llm !== undefined),
  };
}

/** Returns the address of a backend, and its credentials; reports why they cannot be used. */
function compileHost(
  resource: GatewayBackend,
  first: Endpoint,
  tls: Backend["tls"],
  context: BackendContext,
): Pick<Backend, "host" | "port" | "tls" | "credentials"> | undefined {
  const { credentials } = resource.spec;
  if (credentials === undefined) return { ...first, tls };
  const key = namespacedName(resource);
  try {
    return {
      ...first,
      tls,
      credentials: compileCredentials(key, resource, credentials, context),
    };
  } catch (error) {
    if (!(error instanceof UnusableCredentials)) throw error;
    const path = ["spec", "credentials", ...error.path];
    const message = `Cannot use the credentials: ${error.message}`;
    context.report.error(resource, { path, message });
    return undefined;
  }
}

const protocols = { HTTP1: "http1", HTTP2: "http2" } as const;

/** Returns the targets of a policy, with the paths of the references. */
function targetsOf(
  policy: BackendTlsPolicy,
  known: ReadonlyMap<string, GatewayBackend>,
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
    const candidates: ReadonlyMap<string, unknown> = isService
      ? services
      : known;
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
