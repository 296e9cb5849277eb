import { optionalDuration } from "../../api/schema/duration.ts";
import type { Service } from "../../api/resources/cluster_kinds.ts";
import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { References } from "../resolve/references.ts";
import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { Backend, Endpoint } from "../../snapshot/backend.ts";
import { namespacedName, namesWithin } from "../resolve/precedence.ts";
import {
  BackendCompilation,
  type BackendContext,
  type InvalidBackend,
  UnusableCredentials,
} from "./backend_compilation.ts";
import {
  compileBalancing,
  compileHealthCheck,
  compileLookups,
  compileTimeouts,
} from "./compile_balancing.ts";
import { compileCredentials } from "./compile_credentials.ts";
import { writtenHosts } from "./written_hosts.ts";
import type { TlsByTarget } from "./backend_tls.ts";
import { compileLlm } from "./llm_backends.ts";
import { backendsOf, compileMcp } from "./mcp_backends.ts";
import type { FindHost } from "./mcp_transports.ts";

/** Backends by their key. */
export interface CompiledBackends {
  readonly backends: ReadonlyMap<string, Backend>;
  /** Those that exist and cannot be used, each with the reason if its host is denied; their errors are reported. */
  readonly invalidBackends: ReadonlyMap<string, string | undefined>;
}

/** Compiles every backend, and every service that routes refer to, with the TLS policy that applies, in steps. */
export function* compileBackends(
  { gatewayBackends, httpRoutes }: ResourceSet,
  tls: TlsByTarget,
  context: BackendContext,
): Generator<void, CompiledBackends> {
  const known = new Map(
    gatewayBackends.map((backend) => [namespacedName(backend), backend]),
  );
  const backends = new Map<string, Backend>();
  const invalidBackends = new Map<string, string | undefined>();
  // Those that others are servers of come first.
  const ordered = [...known].toSorted(([, a], [, b]) =>
    namedServers(a).length - namedServers(b).length
  );
  for (const [key, resource] of ordered) {
    const own = tls.get(`GatewayBackend/${key}`);
    const findHost = hostFinder(resource, { known, backends, context });
    const compile = () => compileBackend(resource, own, context, findHost);
    const servers = namedServers(resource).map(findHost);
    const backend = context.backendMemory.recallFrom(
      key,
      [resource, own, ...servers],
      compile,
    );
    if ("denial" in backend) invalidBackends.set(key, backend.denial);
    else addBackend(backend, backends);
    yield;
  }
  const { references } = context;
  for (const referenced of referencedServicePorts(httpRoutes, references)) {
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

/** Lists the backends that are MCP servers of another one, by their names. */
function namedServers({ spec: { mcp } }: GatewayBackend): readonly string[] {
  return (mcp?.servers ?? []).flatMap(({ backend }) => backend?.name ?? []);
}

/** Creates what finds the backends that are MCP servers of `resource`. */
function hostFinder(
  { metadata: { namespace } }: GatewayBackend,
  { known, backends, context: { report } }: {
    readonly known: ReadonlyMap<string, GatewayBackend>;
    readonly backends: ReadonlyMap<string, Backend>;
    readonly context: BackendContext;
  },
): FindHost {
  const problems = new Map<string, ReturnType<FindHost>>();
  const find: FindHost = (name) => {
    const key = `${namespace}/${name}`;
    const resource = known.get(key);
    if (resource === undefined) {
      const suggestion = report.suggest(
        name,
        () => namesWithin(namespace, known.keys()),
      );
      return { message: `backend "${name}" does not exist`, suggestion };
    }
    const { static: single, endpoints } = resource.spec;
    if (single === undefined && endpoints === undefined) {
      return { message: `backend "${name}" has no host` };
    }
    return backends.get(key) ??
      { message: `backend "${name}" cannot be used` };
  };
  return (name) => problems.getOrInsertComputed(name, () => find(name));
}

/** Adds a backend, and those of its MCP servers. */
function addBackend(backend: Backend, backends: Map<string, Backend>): void {
  backends.set(backend.key, backend);
  for (const { transport } of backend.mcp?.servers ?? []) {
    for (const own of backendsOf(transport)) backends.set(own.key, own);
  }
}

function compileBackend(
  resource: GatewayBackend,
  tls: Backend["tls"],
  context: BackendContext,
  findHost: FindHost,
): Backend | InvalidBackend {
  const { metadata, spec } = resource;
  const compilation = new BackendCompilation(resource, tls, context);
  const { endpoints: hosts = spec.static && [spec.static], llm, mcp } = spec;
  const [first] = hosts ?? [];
  const address = llm !== undefined
    ? compileLlm(compilation, llm)
    : mcp !== undefined
    ? compileMcp(compilation, mcp, findHost)
    : first && compileHost(compilation, first);
  const denied = compilation.findDenied(writtenHosts(spec));
  if (denied !== undefined) {
    const message = `Cannot connect to "${denied.host}": ${denied.denial}`;
    compilation.error({ path: ["spec", ...denied.path], message });
    return { denial: denied.denial };
  }
  const loopbackPorts = compilation.loopbackPortsOf(hosts);
  const balancing = compileBalancing(compilation);
  if (address === undefined) return { denial: undefined };
  const healthCheck = compileHealthCheck(spec.healthCheck, address);
  return {
    ...address,
    ...(hosts && hosts.length > 1 && { hosts }),
    ...(balancing && { balancing }),
    ...(healthCheck && { healthCheck }),
    ...(spec.dns && { lookups: compileLookups(spec.dns) }),
    ...(loopbackPorts.length > 0 && { loopbackPorts }),
    key: compilation.key,
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
  compilation: BackendCompilation,
  first: Endpoint,
): Pick<Backend, "host" | "port" | "tls" | "credentials"> | undefined {
  const { tls, resource: { spec: { credentials } } } = compilation;
  if (credentials === undefined) return { ...first, tls };
  try {
    return {
      ...first,
      tls,
      credentials: compileCredentials(compilation, credentials),
    };
  } catch (error) {
    if (!(error instanceof UnusableCredentials)) throw error;
    const path = ["spec", "credentials", ...error.path];
    const message = `Cannot use the credentials: ${error.message}`;
    compilation.error({ path, message });
    return undefined;
  }
}

const protocols = { HTTP1: "http1", HTTP2: "http2" } as const;

/** Key of the backend of a service's port: `default/web:8080`. */
export function serviceBackendKey(service: string, port: number): string {
  return `${service}:${port}`;
}

/** Lists the ports of services that routes refer to, each once. */
function* referencedServicePorts(
  routes: readonly HttpRoute[],
  { services }: References,
): Generator<ReferencedPort> {
  const seen = new Set<string>();
  // Those of gRPC first: they need HTTP/2.
  const ordered = [
    ...routes.filter(({ kind }) => kind === "GRPCRoute"),
    ...routes.filter(({ kind }) => kind === "HTTPRoute"),
  ];
  for (const route of ordered) {
    for (const { key, name, port } of referencesOf(route)) {
      if (seen.has(key)) continue;
      seen.add(key);
      const service = services.get(name);
      const found = service?.spec.ports?.find((each) =>
        each.port === port && (each.protocol ?? "TCP") === "TCP"
      );
      if (service !== undefined && found !== undefined) {
        yield { service, port: found, isGrpc: route.kind === "GRPCRoute" };
      }
    }
  }
}

/** A reference of a route to a service. */
interface ServiceReference {
  readonly key: string;
  /** `namespace/name`. */
  readonly name: string;
  readonly port: number | undefined;
}

const references = new WeakMap<HttpRoute, readonly ServiceReference[]>();

/** Returns the references of a route, which are read once. */
function referencesOf(route: HttpRoute): readonly ServiceReference[] {
  return references.getOrInsertComputed(route, readReferences);
}

function readReferences({ metadata, spec }: HttpRoute): ServiceReference[] {
  return spec.rules.flatMap(({ backendRefs = [], filters = [] }) => {
    const mirrored = filters.flatMap((filter) =>
      filter.type === "RequestMirror" ? [filter.requestMirror.backendRef] : []
    );
    return [...backendRefs, ...mirrored].flatMap((ref) => {
      if (ref.kind !== "Service") return [];
      const { namespace = metadata.namespace, port } = ref;
      const name = `${namespace}/${ref.name}`;
      return [{ key: serviceBackendKey(name, port ?? 0), name, port }];
    });
  });
}

/** A port that routes refer to. */
interface ReferencedPort {
  readonly service: Service;
  readonly port: ServicePort;
  readonly isGrpc: boolean;
}

/** A port of a service. */
type ServicePort = NonNullable<Service["spec"]["ports"]>[number];

/** Compiles a port of a service; its endpoints come later, and change without a compilation. */
function compileService(
  { service, port: { name = "", port, appProtocol }, isGrpc }: ReferencedPort,
  tls: Backend["tls"],
): Backend {
  const { metadata } = service;
  return {
    key: serviceBackendKey(namespacedName(service), port),
    name: metadata.name,
    host: `${metadata.name}.${metadata.namespace}.svc`,
    port,
    protocol: isGrpc || appProtocol === "kubernetes.io/h2c" ? "http2" : "auto",
    tls,
    service: { name: namespacedName(service), portName: name },
    ...compileTimeouts(undefined),
  };
}
