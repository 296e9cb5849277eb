/** API group of the Gateway API kinds: `Gateway`, `HTTPRoute`, `BackendTLSPolicy`. */
export const GATEWAY_API_GROUP = "gateway.networking.k8s.io";

/**
 * API group of our own kinds, `GatewayPolicy` and `GatewayBackend`, in every `ResourceSet`.
 * A file that sets `config.policyApiGroup` is rewritten to this one while it is read.
 */
export const POLICY_API_GROUP = "policy.gateway.internal";

/** `apiVersion` of the Gateway API kinds. */
export const gatewayApiVersion = `${GATEWAY_API_GROUP}/v1` as const;

/** `apiVersion` of our own kinds. */
export const policyApiVersion = `${POLICY_API_GROUP}/v1alpha1` as const;
