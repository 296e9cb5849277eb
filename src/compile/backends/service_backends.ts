import {
  type EndpointSlice,
  type Service,
  serviceOf,
  type ServiceSlices,
} from "../../api/resources/cluster_kinds.ts";
import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { Backend, Endpoint } from "../../snapshot/backend.ts";
import type { ServiceEndpoints } from "../../snapshot/snapshot.ts";
import { namespacedName } from "../resolve/precedence.ts";
import { type References } from "../resolve/references.ts";
import { compileTimeouts } from "./compile_balancing.ts";
import { areSame } from "../memory/compile_memory.ts";

/** Key of the backend of a service's port: `default/web:8080`. */
export function serviceBackendKey(service: string, port: number): string {
  return `${service}:${port}`;
}

/** Lists the ports of services that routes refer to, each once. */
export function* referencedServicePorts(
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
export function compileService(
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

type SliceEndpoint = NonNullable<EndpointSlice["endpoints"]>[number];

/**
 * Returns the endpoints of services: those that are ready, or if none is, those that serve while they terminate.
 *
 * https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions
 */
export function compileEndpoints(
  slices: readonly EndpointSlice[],
): ServiceEndpoints {
  return compileServiceSlices(Map.groupBy(slices, serviceOf));
}

/** Does the same for some services. */
export function compileServiceSlices(slices: ServiceSlices): ServiceEndpoints {
  return new Map(
    slices.entries().map(([service, own]) => [service, endpointsOf(own)]),
  );
}

type Ports = ReadonlyMap<string, readonly Endpoint[]>;

/** The last endpoints by the first slice of their service: they stay the same object while its slices do. */
const known = new WeakMap<
  EndpointSlice,
  { readonly slices: readonly EndpointSlice[]; readonly ports: Ports }
>();

function endpointsOf(slices: readonly EndpointSlice[]): Ports {
  const [first] = slices;
  if (first === undefined) return new Map();
  const last = known.get(first);
  if (last !== undefined && areSame(last.slices, slices)) return last.ports;
  const ports = compilePorts(
    slices.filter(({ addressType }) => addressType !== "FQDN"),
  );
  known.set(first, { slices, ports });
  return ports;
}

function compilePorts(slices: readonly EndpointSlice[]): Ports {
  const ready = collect(slices, isReady);
  const serving = collect(slices, isServing);
  return new Map(
    serving.entries().map(([port, endpoints]) => [
      port,
      ready.get(port) ?? endpoints,
    ]),
  );
}

function isReady({ conditions }: SliceEndpoint): boolean {
  return conditions?.ready ?? true;
}

function isServing(endpoint: SliceEndpoint): boolean {
  return endpoint.conditions?.serving ?? isReady(endpoint);
}

function collect(
  slices: readonly EndpointSlice[],
  accepts: (endpoint: SliceEndpoint) => boolean,
): Map<string, Endpoint[]> {
  const byPort = new Map<string, Endpoint[]>();
  for (const { endpoints, ports } of slices) {
    for (const { name, port } of ports ?? []) {
      if (typeof port !== "number") continue;
      const own = (endpoints ?? []).filter(accepts).flatMap(({ addresses }) =>
        addresses.slice(0, 1).map((host) => ({ host, port }))
      );
      if (own.length === 0) continue;
      byPort.getOrInsertComputed(name ?? "", () => []).push(...own);
    }
  }
  return byPort;
}
