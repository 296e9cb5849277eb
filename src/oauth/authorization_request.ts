import type { ServerUrls } from "./authorization_services.ts";
import { OAuthError } from "./oauth_error.ts";
import {
  expectResource,
  isScope,
  type OAuthParameters,
  requiredParameter,
} from "./oauth_parameters.ts";
import { isLoopback } from "./redirect_uri.ts";

/** A login keeps the client's state in a cookie, whose size is limited. */
export const MAX_STATE_LENGTH = 1024;
/** Parameters of OpenID Connect that the provider may act on. */
const passedOn = ["prompt", "login_hint", "max_age", "ui_locales"];

/** Reads the parameters that the login keeps. @throws {OAuthError} To be sent to the redirect URI. */
export function readAuthorizationRequest(
  parameters: OAuthParameters,
  { issuer }: ServerUrls,
) {
  const type = requiredParameter(parameters, "response_type");
  if (type !== "code") {
    throw new OAuthError("unsupported_response_type", 'only "code" is served');
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

/** Checks that the browser will keep the cookies of the login: browsers keep `__Host-` cookies for HTTPS and for loopback only. @throws {OAuthError} */
export function expectSecureOrigin({ origin }: ServerUrls): void {
  const { protocol, hostname } = new URL(origin);
  if (protocol === "https:" || isLoopback(hostname)) return;
  throw new OAuthError(
    "invalid_request",
    "logins need HTTPS",
    `the client reached ${origin}; behind a proxy that ends TLS, set "config.trustedProxies" or the "resource" of the metadata`,
  );
}

/** Parameters of the client that go to the provider as they are. */
export function readPassedOn(
  parameters: OAuthParameters,
): Record<string, string> {
  return Object.fromEntries(
    passedOn.flatMap((name) => {
      const value = parameters.get(name);
      return value === undefined || value.length > 256 ? [] : [[name, value]];
    }),
  );
}
