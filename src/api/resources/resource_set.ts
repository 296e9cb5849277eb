import {
  type BackendTlsPolicy,
  backendTlsPolicySchema,
} from "./backend_tls_policy.ts";
import { type Gateway, gatewaySchema } from "./gateway_resource.ts";
import {
  type GatewayBackend,
  gatewayBackendSchema,
} from "./gateway_backend.ts";
import type { GatewayPolicy, PolicySchemas } from "./gateway_policy_schema.ts";
import { type HttpRoute, httpRouteSchema } from "./http_route.ts";

/** The configuration of a data plane: plain data that survives JSON and `structuredClone`. */
export interface ResourceSet {
  readonly gateways: readonly Gateway[];
  readonly httpRoutes: readonly HttpRoute[];
  readonly gatewayPolicies: readonly GatewayPolicy[];
  readonly gatewayBackends: readonly GatewayBackend[];
  readonly backendTlsPolicies: readonly BackendTlsPolicy[];
  /** Strings in the resources that come from environment variables; they may be secret. */
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

/** Schemas by kind. */
export type KindSchemas = ReturnType<typeof createKindSchemas>;

/** Creates the schemas of all kinds of resources. */
export function createKindSchemas(policies: PolicySchemas) {
  return {
    Gateway: gatewaySchema,
    HTTPRoute: httpRouteSchema,
    GatewayPolicy: policies.resource,
    GatewayBackend: gatewayBackendSchema,
    BackendTLSPolicy: backendTlsPolicySchema,
  } satisfies Record<Kind, unknown>;
}

/** An empty set. */
export const emptyResourceSet: ResourceSet = {
  gateways: [],
  httpRoutes: [],
  gatewayPolicies: [],
  gatewayBackends: [],
  backendTlsPolicies: [],
};

/** Formats the identity of a resource within a set: `HTTPRoute/default/mcp`. */
export function resourceKey(
  resource: {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace: string };
  },
): string {
  return `${resource.kind}/${resource.metadata.namespace}/${resource.metadata.name}`;
}
