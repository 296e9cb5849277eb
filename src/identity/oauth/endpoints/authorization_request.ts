import { isConfidential } from "../../../base/wire/host_port.ts";
import type { ServerUrls } from "./authorization_services.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import {
  expectResource,
  isScope,
  type OAuthParameters,
  requiredParameter,
} from "../protocol/oauth_parameters.ts";

/** Longest `state` of a client: logins keep it in a cookie, whose size is limited. */
export const MAX_STATE_LENGTH = 1024;
/** OpenID Connect parameters that the gateway forwards to the provider. */
const forwardedParameters = ["prompt", "login_hint", "max_age", "ui_locales"];

/** Reads the parameters that the login keeps. @throws {OAuthError} The redirect URI gets the error. */
export function readAuthorizationRequest(
  parameters: OAuthParameters,
  { issuer }: ServerUrls,
) {
  const type = requiredParameter(parameters, "response_type");
  if (type !== "code") {
    throw new OAuthError(
      "unsupported_response_type",
      'only "code" is supported',
    );
  }
  const challenge = requiredParameter(parameters, "code_challenge");
  if (
    parameters.get("code_challenge_method") !== "S256" ||
    !/^[\w-]{43}$/.test(challenge)
  ) {
    throw new OAuthError("invalid_request", "PKCE with S256 is required");
  }
  expectResource(parameters, issuer);
  const scope = parameters.get("scope");
  if (scope !== undefined && !isScope(scope)) {
    throw new OAuthError("invalid_scope", "the scope is malformed or too long");
  }
  const state = parameters.get("state");
  if ((state?.length ?? 0) > MAX_STATE_LENGTH) {
    throw new OAuthError(
      "invalid_request",
      `state is longer than ${MAX_STATE_LENGTH} characters`,
    );
  }
  return { challenge, scope, state, issuer };
}

/** Checks that browsers will store the login cookies: they store `__Host-` cookies only for HTTPS and loopback. @throws {OAuthError} */
export function expectSecureOrigin({ origin }: ServerUrls): void {
  if (isConfidential(new URL(origin))) return;
  throw new OAuthError(
    "invalid_request",
    "logins need HTTPS",
    `the client reached ${origin}; behind a proxy that ends TLS, set "config.trustedProxies" or the "resource" of the metadata`,
  );
}

/** Reads the client's parameters that the gateway forwards to the provider unchanged. */
export function readForwardedParameters(
  parameters: OAuthParameters,
): Record<string, string> {
  return Object.fromEntries(
    forwardedParameters.flatMap((name) => {
      const value = parameters.get(name);
      return value === undefined || value.length > 256 ? [] : [[name, value]];
    }),
  );
}
