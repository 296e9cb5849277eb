/** API group of the Gateway API kinds: `Gateway`, `HTTPRoute`, `BackendTLSPolicy`. */
export const GATEWAY_API_GROUP = "gateway.networking.k8s.io";

/**
 * API group of the project's own kinds, `GatewayPolicy` and `GatewayBackend`, in every `ResourceSet`. The loader rewrites the
 * group of files that set `config.policyApiGroup` to this one.
 */
export const POLICY_API_GROUP = "policy.gateway.internal";

/** `apiVersion` of the Gateway API kinds. */
export const gatewayApiVersion = `${GATEWAY_API_GROUP}/v1` as const;

/** `apiVersion` of the project's own kinds. */
export const policyApiVersion = `${POLICY_API_GROUP}/v1alpha1` as const;

/** Backend kind of the web UI; the backends are named `read-only` and `read-write`. */
export const WEB_UI_KIND = "WebUI";
