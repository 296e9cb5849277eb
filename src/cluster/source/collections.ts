import type { Kind } from "../../api/resources/resource_set.ts";

/** A collection of the API server. */
export interface Collection {
  readonly kind: string;
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

/** A collection of what is a part of the configuration. */
export interface ConfigurationCollection extends Collection {
  readonly kind: Kind | "GatewayClass";
}

/** Returns the collections that the gateway reads; `policyApiGroup` is the group of its own kinds. */
export function createCollections(
  policyApiGroup: string,
): readonly ConfigurationCollection[] {
  const core = "v1";
  const gatewayApi = "gateway.networking.k8s.io/v1";
  const own = `${policyApiGroup}/v1alpha1`;
  const isClusterScoped = true;
  const hasStatus = true;
  const tls = { fieldSelector: "type=kubernetes.io/tls" };
  // Keys of LLM providers and secrets of logins; the gateway does not read other Secrets.
  const credentials = {
    labelSelector: `${policyApiGroup}/credentials in (llm,login)`,
  };
  const rows: readonly Row[] = [
    ["GatewayClass", gatewayApi, "gatewayclasses", { isClusterScoped }],
    ["Gateway", gatewayApi, "gateways"],
    ["ListenerSet", gatewayApi, "listenersets", { hasStatus }],
    ["HTTPRoute", gatewayApi, "httproutes", { hasStatus }],
    ["GRPCRoute", gatewayApi, "grpcroutes", { hasStatus }],
    ["ReferenceGrant", `${gatewayApi}beta1`, "referencegrants"],
    ["BackendTLSPolicy", gatewayApi, "backendtlspolicies", { hasStatus }],
    ["GatewayPolicy", own, "gatewaypolicies", { hasStatus }],
    ["GatewayBackend", own, "gatewaybackends"],
    ["Service", core, "services"],
    ["EndpointSlice", "discovery.k8s.io/v1", "endpointslices"],
    ["Secret", core, "secrets", tls],
    ["Secret", core, "secrets", credentials],
    ["ConfigMap", core, "configmaps"],
    ["Namespace", core, "namespaces", { isClusterScoped }],
  ];
  return rows.map(([kind, apiVersion, plural, more]) => ({
    kind,
    apiVersion,
    plural,
    ...more,
  }));
}

type Row = readonly [
  kind: ConfigurationCollection["kind"],
  apiVersion: string,
  plural: string,
  more?: Partial<Omit<Collection, "kind">>,
];

/** Returns the path of a collection, or of its part in a namespace. */
export function collectionPath(
  { apiVersion, plural }: Collection,
  namespace?: string,
): string {
  const root = apiVersion.includes("/") ? "/apis" : "/api";
  const folder = namespace === undefined ? "" : `/namespaces/${namespace}`;
  return `${root}/${apiVersion}${folder}/${plural}`;
}
