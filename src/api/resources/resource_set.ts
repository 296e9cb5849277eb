import type { ReservedAddress } from "../../base/wire/egress_rules.ts";
import {
  type BackendTlsPolicy,
  backendTlsPolicySchema,
} from "./backend_tls_policy.ts";
import {
  type ConfigMap,
  configMapSchema,
  type EndpointSlice,
  endpointSliceSchema,
  type Namespace,
  namespaceSchema,
  type ReferenceGrant,
  referenceGrantSchema,
  type Secret,
  secretSchema,
  type Service,
  serviceSchema,
} from "./cluster_kinds.ts";
import { type Gateway, gatewaySchema } from "./gateway_resource.ts";
import {
  type GatewayBackend,
  gatewayBackendSchema,
} from "./gateway_backend.ts";
import { type ListenerSet, listenerSetSchema } from "./listener_set.ts";
import type { GatewayPolicy, PolicySchemas } from "./gateway_policy_schema.ts";
import { type GrpcRoute, grpcRouteSchema, toHttpRoute } from "./grpc_route.ts";
import {
  type HttpRoute,
  type HttpRouteResource,
  httpRouteSchema,
} from "./http_route.ts";

/** The configuration of a data plane: plain data that survives JSON and `structuredClone`. */
export interface ResourceSet {
  readonly gateways: readonly Gateway[];
  readonly listenerSets: readonly ListenerSet[];
  /** Includes gRPC routes. */
  readonly httpRoutes: readonly HttpRoute[];
  readonly gatewayPolicies: readonly GatewayPolicy[];
  readonly gatewayBackends: readonly GatewayBackend[];
  readonly backendTlsPolicies: readonly BackendTlsPolicy[];
  readonly services: readonly Service[];
  readonly endpointSlices: readonly EndpointSlice[];
  readonly secrets: readonly Secret[];
  readonly configMaps: readonly ConfigMap[];
  readonly namespaces: readonly Namespace[];
  readonly referenceGrants: readonly ReferenceGrant[];
  /** Strings in the resources that come from environment variables; they may be secret. */
  readonly environment?: readonly string[];
  /** The resources have many authors, as in a cluster: an invalid one does not keep the others from being applied. */
  readonly isolatesErrors?: boolean;
  /** Each gateway has proxies of its own: those of one port do not share it. */
  readonly separatesGateways?: boolean;
  /** Addresses that backends and policies of a cluster must not reach; their authors reach less than those of files. */
  readonly reserved?: readonly ReservedAddress[];
  /** Ports that could not be opened, and are left out. */
  readonly unusablePorts?: readonly {
    readonly port: number;
    /** Omitted for all addresses. */
    readonly address?: string;
    readonly reason: string;
  }[];
}

/** A resource of any kind. */
export type Resource =
  | Gateway
  | ListenerSet
  | HttpRouteResource
  | GrpcRoute
  | GatewayPolicy
  | GatewayBackend
  | BackendTlsPolicy
  | Service
  | EndpointSlice
  | Secret
  | ConfigMap
  | Namespace
  | ReferenceGrant;

/** Name of a resource kind. */
export type Kind = Resource["kind"];

/** Schemas by kind. */
export type KindSchemas = ReturnType<typeof createKindSchemas>;

/** Creates the schemas of all kinds of resources. */
export function createKindSchemas(policies: PolicySchemas) {
  return {
    Gateway: gatewaySchema,
    ListenerSet: listenerSetSchema,
    HTTPRoute: httpRouteSchema,
    GRPCRoute: grpcRouteSchema,
    GatewayPolicy: policies.resource,
    GatewayBackend: gatewayBackendSchema,
    BackendTLSPolicy: backendTlsPolicySchema,
    Service: serviceSchema,
    EndpointSlice: endpointSliceSchema,
    Secret: secretSchema,
    ConfigMap: configMapSchema,
    Namespace: namespaceSchema,
    ReferenceGrant: referenceGrantSchema,
  } satisfies Record<Kind, unknown>;
}

/** An empty set. */
export const emptyResourceSet: ResourceSet = {
  gateways: [],
  listenerSets: [],
  httpRoutes: [],
  gatewayPolicies: [],
  gatewayBackends: [],
  backendTlsPolicies: [],
  services: [],
  endpointSlices: [],
  secrets: [],
  configMaps: [],
  namespaces: [],
  referenceGrants: [],
};

/** Concatenates two sets; fields that are no lists are those of `second`, where it has them. */
export function mergeResourceSets(
  first: ResourceSet,
  second: ResourceSet,
): ResourceSet {
  return combineResourceSets(first, second, (a, b) => [...a, ...b]);
}

/** Combines the lists of two sets; other fields are those of `second`, where it has them. */
export function combineResourceSets(
  first: ResourceSet,
  second: ResourceSet,
  combine: <R extends Parameters<typeof resourceKey>[0]>(
    first: readonly R[],
    second: readonly R[],
  ) => readonly R[],
): ResourceSet {
  return {
    ...first,
    ...second,
    gateways: combine(first.gateways, second.gateways),
    listenerSets: combine(first.listenerSets, second.listenerSets),
    httpRoutes: combine(first.httpRoutes, second.httpRoutes),
    gatewayPolicies: combine(first.gatewayPolicies, second.gatewayPolicies),
    gatewayBackends: combine(first.gatewayBackends, second.gatewayBackends),
    backendTlsPolicies: combine(
      first.backendTlsPolicies,
      second.backendTlsPolicies,
    ),
    services: combine(first.services, second.services),
    endpointSlices: combine(first.endpointSlices, second.endpointSlices),
    secrets: combine(first.secrets, second.secrets),
    configMaps: combine(first.configMaps, second.configMaps),
    namespaces: combine(first.namespaces, second.namespaces),
    referenceGrants: combine(first.referenceGrants, second.referenceGrants),
  };
}

/** Groups resources by their kind. */
export function resourceSetOf(resources: readonly Resource[]): ResourceSet {
  const byKind = Map.groupBy(resources, ({ kind }) => kind);
  const ofKind = <K extends Kind>(kind: K) =>
    (byKind.get(kind) ?? []).filter((
      resource,
    ): resource is Extract<Resource, { kind: K }> => resource.kind === kind);
  return {
    gateways: ofKind("Gateway"),
    listenerSets: ofKind("ListenerSet"),
    httpRoutes: [
      ...ofKind("HTTPRoute"),
      ...ofKind("GRPCRoute").map(toHttpRoute),
    ],
    gatewayPolicies: ofKind("GatewayPolicy"),
    gatewayBackends: ofKind("GatewayBackend"),
    backendTlsPolicies: ofKind("BackendTLSPolicy"),
    services: ofKind("Service"),
    endpointSlices: ofKind("EndpointSlice"),
    secrets: ofKind("Secret"),
    configMaps: ofKind("ConfigMap"),
    namespaces: ofKind("Namespace"),
    referenceGrants: ofKind("ReferenceGrant"),
  };
}

/** Formats the identity of a resource within a set: `HTTPRoute/default/mcp`. */
export function resourceKey(
  resource: {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace: string };
  },
): string {
  return `${resource.kind}/${resource.metadata.namespace}/${resource.metadata.name}`;
}
