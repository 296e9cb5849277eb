import type { Service } from "../../api/resources/cluster_kinds.ts";
import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import { namespacedName } from "../precedence.ts";
import { compileTimeouts } from "./compile_balancing.ts";
import type { References } from "../reference_grants.ts";

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
  for (const { kind: routeKind, metadata, spec } of ordered) {
    for (const { backendRefs = [], filters = [] } of spec.rules) {
      const mirrored = filters.flatMap((filter) =>
        filter.type === "RequestMirror" ? [filter.requestMirror.backendRef] : []
      );
      for (const ref of [...backendRefs, ...mirrored]) {
        const { kind, name, namespace = metadata.namespace, port } = ref;
        if (kind !== "Service") continue;
        const key = serviceBackendKey(`${namespace}/${name}`, port ?? 0);
        if (seen.has(key)) continue;
        seen.add(key);
        const service = services.get(`${namespace}/${name}`);
        const found = service?.spec.ports?.find((each) =>
          each.port === port && (each.protocol ?? "TCP") === "TCP"
        );
        if (service !== undefined && found !== undefined) {
          yield { service, port: found, isGrpc: routeKind === "GRPCRoute" };
        }
      }
    }
  }
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
