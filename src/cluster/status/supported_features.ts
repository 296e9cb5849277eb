/**
 * Features of the Gateway API that the gateway supports, as its `GatewayClass` says; sorted, as the status has to be.
 *
 * Each is proven by the official conformance suite. https://gateway-api.sigs.k8s.io/concepts/conformance/
 */
export const supportedFeatures: readonly string[] = [
  "BackendTLSPolicy",
  "BackendTLSPolicySANValidation",
  "Gateway",
  "GatewayHTTPListenerIsolation",
  "GatewayPort8080",
  "HTTPRoute",
  "HTTPRoute303RedirectStatusCode",
  "HTTPRoute307RedirectStatusCode",
  "HTTPRoute308RedirectStatusCode",
  "HTTPRouteBackendProtocolH2C",
  "HTTPRouteBackendProtocolWebSocket",
  "HTTPRouteBackendRequestHeaderModification",
  "HTTPRouteBackendTimeout",
  "HTTPRouteCORS",
  "HTTPRouteDestinationPortMatching",
  "HTTPRouteHostRewrite",
  "HTTPRouteMethodMatching",
  "HTTPRouteNamedRouteRule",
  "HTTPRouteParentRefPort",
  "HTTPRoutePathRedirect",
  "HTTPRoutePathRewrite",
  "HTTPRoutePortRedirect",
  "HTTPRouteQueryParamMatching",
  "HTTPRouteRequestMirror",
  "HTTPRouteRequestMultipleMirrors",
  "HTTPRouteRequestPercentageMirror",
  "HTTPRouteRequestTimeout",
  "HTTPRouteResponseHeaderModification",
  "HTTPRouteRetry",
  "HTTPRouteSchemeRedirect",
  "ReferenceGrant",
];
