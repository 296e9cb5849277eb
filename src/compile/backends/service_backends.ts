import type { Service } from "../../api/resources/cluster_kinds.ts";
import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import { namespacedName } from "../resolve/precedence.ts";
import { compileTimeouts } from "./compile_balancing.ts";
import type { References } from "../resolve/reference_grants.ts";

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
export type ServicePort = NonNullable<Service["spec"]["ports"]>[number];

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
