import type { EndpointSlice } from "../../api/resources/cluster_kinds.ts";
import type { Endpoint, ServiceEndpoints } from "../../snapshot/snapshot.ts";

const SERVICE_LABEL = "kubernetes.io/service-name";

type SliceEndpoint = NonNullable<EndpointSlice["endpoints"]>[number];

/**
 * Returns the endpoints of services: those that are ready, or if none is, those that serve while they terminate.
 *
 * https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions
 */
export function compileEndpoints(
  slices: readonly EndpointSlice[],
): ServiceEndpoints {
  const byService = Map.groupBy(
    slices.filter(({ addressType }) => addressType !== "FQDN"),
    ({ metadata: { namespace, labels = {} } }) =>
      `${namespace}/${labels[SERVICE_LABEL] ?? ""}`,
  );
  return new Map(
    byService.entries().map(([service, own]) => [service, endpointsOf(own)]),
  );
}

function endpointsOf(
  slices: readonly EndpointSlice[],
): ReadonlyMap<string, readonly Endpoint[]> {
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
