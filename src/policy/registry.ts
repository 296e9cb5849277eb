import { apiKeyAuthentication } from "./keys/api_key_authentication.ts";
import { basicAuthentication } from "./authentication/basic_authentication.ts";
import { jwtAuthentication } from "./login/jwt_authentication.ts";
import { oidc } from "./login/browser/oidc.ts";
import { extAuthz } from "./ext_authz/ext_authz.ts";
import { authorization } from "./authorization/authorization.ts";
import { cors } from "./http/cors.ts";
import { directResponse } from "./http/direct_response.ts";
import {
  requestHeaderModifier,
  responseHeaderModifier,
} from "./http/header_modifier.ts";
import { requestRedirect } from "./http/request_redirect.ts";
import { urlRewrite } from "./http/url_rewrite.ts";
import { createRegistry } from "./contract/policy_registry.ts";
import { rateLimit } from "./rate_limit/rate_limit.ts";
import { transformation } from "./transformation/transformation.ts";

/** The policies that every gateway has, in the order in which they see a request. */
export const builtInPolicies = createRegistry([
  cors,
  jwtAuthentication,
  oidc,
  basicAuthentication,
  apiKeyAuthentication,
  extAuthz,
  authorization,
  rateLimit,
  transformation,
  requestHeaderModifier,
  responseHeaderModifier,
  urlRewrite,
  requestRedirect,
  directResponse,
]);
