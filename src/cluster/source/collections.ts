import type { Kind } from "../../api/resources/resource_set.ts";

/** A collection of the API server. */
export interface Collection {
  readonly kind: Kind | "GatewayClass";
  /** Group and version: `gateway.networking.k8s.io/v1`, or `v1`. */
  readonly apiVersion: string;
  /** Name in paths: `httproutes`. */
  readonly plural: string;
  /** Its objects belong to no namespace. */
  readonly isClusterScoped?: boolean;
  /** Limits what the API server sends: `type=kubernetes.io/tls`. */
  readonly fieldSelector?: string;
  /** Limits what the API server sends by labels. */
  readonly labelSelector?: string;
  /** The gateway writes entries of its status. */
  readonly hasStatus?: boolean;
}

const GATEWAY_API = "gateway.networking.k8s.io";

/** Returns the collections that the gateway reads; `policyApiGroup` is the group of its own kinds. */
export function createCollections(
  policyApiGroup: string,
): readonly Collection[] {
  return [
    {
      kind: "GatewayClass",
      apiVersion: `${GATEWAY_API}/v1`,
      plural: "gatewayclasses",
      isClusterScoped: true,
    },
    { kind: "Gateway", apiVersion: `${GATEWAY_API}/v1`, plural: "gateways" },
    {
      kind: "ListenerSet",
      apiVersion: `${GATEWAY_API}/v1`,
      plural: "listenersets",
      hasStatus: true,
    },
    {
      kind: "HTTPRoute",
      apiVersion: `${GATEWAY_API}/v1`,
      plural: "httproutes",
      hasStatus: true,
    },
    {
      kind: "GRPCRoute",
      apiVersion: `${GATEWAY_API}/v1`,
      plural: "grpcroutes",
      hasStatus: true,
    },
    {
      kind: "ReferenceGrant",
      apiVersion: `${GATEWAY_API}/v1beta1`,
      plural: "referencegrants",
    },
    {
      kind: "BackendTLSPolicy",
      apiVersion: `${GATEWAY_API}/v1`,
      plural: "backendtlspolicies",
      hasStatus: true,
    },
    {
      kind: "GatewayPolicy",
      apiVersion: `${policyApiGroup}/v1alpha1`,
      plural: "gatewaypolicies",
      hasStatus: true,
    },
    {
      kind: "GatewayBackend",
      apiVersion: `${policyApiGroup}/v1alpha1`,
      plural: "gatewaybackends",
    },
    { kind: "Service", apiVersion: "v1", plural: "services" },
    {
      kind: "EndpointSlice",
      apiVersion: "discovery.k8s.io/v1",
      plural: "endpointslices",
    },
    {
      kind: "Secret",
      apiVersion: "v1",
      plural: "secrets",
      fieldSelector: "type=kubernetes.io/tls",
    },
    // Keys of LLM providers and secrets of logins; the gateway does not read other Secrets.
    {
      kind: "Secret",
      apiVersion: "v1",
      plural: "secrets",
      labelSelector: `${policyApiGroup}/credentials in (llm,login)`,
    },
    { kind: "ConfigMap", apiVersion: "v1", plural: "configmaps" },
    {
      kind: "Namespace",
      apiVersion: "v1",
      plural: "namespaces",
      isClusterScoped: true,
    },
  ];
}

/** Returns the path of a collection, or of its part in a namespace. */
export function collectionPath(
  { apiVersion, plural }: Collection,
  namespace?: string,
): string {
  const root = apiVersion.includes("/") ? "/apis" : "/api";
  const folder = namespace === undefined ? "" : `/namespaces/${namespace}`;
  return `${root}/${apiVersion}${folder}/${plural}`;
}
