import {
  type BackendTlsPolicy,
  backendTlsPolicySchema,
} from "./backend_tls_policy.ts";
import { type Gateway, gatewaySchema } from "./gateway_resource.ts";
import {
  type GatewayBackend,
  gatewayBackendSchema,
} from "./gateway_backend.ts";
import { type GatewayPolicy, gatewayPolicySchema } from "./gateway_policy.ts";
import { type HttpRoute, httpRouteSchema } from "./http_route.ts";

/** Everything a data plane is asked to do: plain data that survives JSON and `structuredClone`. */
export interface ResourceSet {
  readonly gateways: readonly Gateway[];
  readonly httpRoutes: readonly HttpRoute[];
  readonly gatewayPolicies: readonly GatewayPolicy[];
  readonly gatewayBackends: readonly GatewayBackend[];
  readonly backendTlsPolicies: readonly BackendTlsPolicy[];
  /** Texts in the resources that environment variables gave: they may be secret. */
  readonly environment?: readonly string[];
}

/** A resource of any kind. */
export type Resource =
  | Gateway
  | HttpRoute
  | GatewayPolicy
  | GatewayBackend
  | BackendTlsPolicy;

/** Name of a resource kind. */
export type Kind = Resource["kind"];

/** The schema of every kind. */
export const kindSchemas = {
  Gateway: gatewaySchema,
  HTTPRoute: httpRouteSchema,
  GatewayPolicy: gatewayPolicySchema,
  GatewayBackend: gatewayBackendSchema,
  BackendTLSPolicy: backendTlsPolicySchema,
} satisfies Record<Kind, unknown>;

/** A set without resources. */
export const emptyResourceSet: ResourceSet = {
  gateways: [],
  httpRoutes: [],
  gatewayPolicies: [],
  gatewayBackends: [],
  backendTlsPolicies: [],
};

/** Identity of a resource within a set: `HTTPRoute/default/mcp`. */
export function resourceKey(
  resource: {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace: string };
  },
): string {
  return `${resource.kind}/${resource.metadata.namespace}/${resource.metadata.name}`;
}
