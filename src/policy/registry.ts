import {
  checkApiKeyAuthentication,
  createApiKeyAuthentication,
} from "./authentication/api_key_authentication.ts";
import {
  checkBasicAuthentication,
  createBasicAuthentication,
} from "./authentication/basic_authentication.ts";
import { createCors } from "./http/cors.ts";
import { deferPolicy } from "./deferred_policy.ts";
import { createDirectResponse } from "./http/direct_response.ts";
import {
  checkRequestHeaderModifier,
  checkResponseHeaderModifier,
  createRequestHeaderModifier,
  createResponseHeaderModifier,
} from "./http/header_modifier.ts";
import { createJwtAuthentication } from "./authentication/jwt_authentication.ts";
import { checkJwtAuthentication } from "./authentication/jwt_checks.ts";
import { definePolicy, type PolicyKind } from "./policy_kind.ts";
import { createRequestRedirect } from "./http/request_redirect.ts";
import { createUrlRewrite } from "./http/url_rewrite.ts";

const cors = definePolicy("cors", { create: createCors });
const jwtAuthentication = definePolicy("jwtAuthentication", {
  check: (config, { readFile }) => checkJwtAuthentication(config, readFile),
  create: createJwtAuthentication,
});
const basicAuthentication = definePolicy("basicAuthentication", {
  check: (config, { readFile }) => checkBasicAuthentication(config, readFile),
  create: (config, { readFile }) => createBasicAuthentication(config, readFile),
});
const apiKeyAuthentication = definePolicy("apiKeyAuthentication", {
  check: checkApiKeyAuthentication,
  create: createApiKeyAuthentication,
});
const authorization = deferPolicy(
  "authorization",
  "accumulate",
  importExpressionPolicies,
);
const rateLimit = deferPolicy(
  "rateLimit",
  "accumulate",
  importExpressionPolicies,
);
const transformation = deferPolicy(
  "transformation",
  "replace",
  importExpressionPolicies,
);
const requestHeaderModifier = definePolicy("requestHeaderModifier", {
  check: checkRequestHeaderModifier,
  create: createRequestHeaderModifier,
});
const responseHeaderModifier = definePolicy("responseHeaderModifier", {
  check: checkResponseHeaderModifier,
  create: createResponseHeaderModifier,
});
const urlRewrite = definePolicy("urlRewrite", { create: createUrlRewrite });
const requestRedirect = definePolicy("requestRedirect", {
  create: (config, { listenerPort }) =>
    createRequestRedirect(config, listenerPort),
});
const directResponse = definePolicy("directResponse", {
  create: createDirectResponse,
});

/** Kinds that run after a route is chosen, in the order in which they see a request. */
export const routePhaseKinds: readonly PolicyKind[] = [
  cors,
  jwtAuthentication,
  basicAuthentication,
  apiKeyAuthentication,
  authorization,
  rateLimit,
  transformation,
  requestHeaderModifier,
  responseHeaderModifier,
  urlRewrite,
  requestRedirect,
  directResponse,
];

/** Kinds that can run before a route is chosen, in the order in which they see a request. */
export const gatewayPhaseKinds: readonly PolicyKind[] = [
  cors,
  jwtAuthentication,
  basicAuthentication,
  apiKeyAuthentication,
  authorization,
  transformation,
];

/** Kinds that run after a backend is chosen, in the order in which they see a request. */
export const backendPhaseKinds: readonly PolicyKind[] = [
  transformation,
  requestHeaderModifier,
  responseHeaderModifier,
];

/** Expressions take a fifth of the start and 10 MB: only configurations that have them load them. */
function importExpressionPolicies() {
  return import("./expression_policies.ts");
}
