/** API group of the Gateway API kinds: `Gateway`, `HTTPRoute`, `BackendTLSPolicy`. */
export const gatewayApiGroup = "gateway.networking.k8s.io";

/**
 * API group of our own kinds, `GatewayPolicy` and `GatewayBackend`, in every `ResourceSet`.
 * A file that sets `config.policyApiGroup` is rewritten to this one while it is read.
 */
export const policyApiGroup = "policy.gateway.internal";

/** `apiVersion` of the Gateway API kinds. */
export const gatewayApiVersion = `${gatewayApiGroup}/v1` as const;

/** `apiVersion` of our own kinds. */
export const policyApiVersion = `${policyApiGroup}/v1alpha1` as const;
