import type {
  EndpointSlice,
  ServiceSlices,
} from "../api/resources/cluster_kinds.ts";
import { areSame } from "../compile/memory/compile_memory.ts";
import type { Endpoint } from "../snapshot/backend.ts";
import type { ServiceEndpoints } from "../snapshot/snapshot.ts";

type SliceEndpoint = NonNullable<EndpointSlice["endpoints"]>[number];

/**
 * Returns the endpoints of services: those that are ready, or if none is, those that serve while they terminate. Endpoints of a
 * service stay the same object while its slices do.
 *
 * https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions
 */
export function readEndpoints(slices: ServiceSlices): ServiceEndpoints {
  return new Map(
    slices.entries().map(([service, own]) => [service, endpointsOf(own)]),
  );
}

type Ports = ReadonlyMap<string, readonly Endpoint[]>;

/** The last endpoints by the first slice of their service. */
const known = new WeakMap<
  EndpointSlice,
  { readonly slices: readonly EndpointSlice[]; readonly ports: Ports }
>();

function endpointsOf(slices: readonly EndpointSlice[]): Ports {
  const [first] = slices;
  if (first === undefined) return new Map();
  const last = known.get(first);
  if (last !== undefined && areSame(last.slices, slices)) return last.ports;
  const ports = readPorts(
    slices.filter(({ addressType }) => addressType !== "FQDN"),
  );
  known.set(first, { slices, ports });
  return ports;
}

function readPorts(slices: readonly EndpointSlice[]): Ports {
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
