import { type JsonObject, stringMember } from "../../../base/json.ts";
import { OAuthError, type OAuthErrorCode } from "../protocol/oauth_error.ts";

/** Tokens that the provider issued. */
export interface ProviderTokens {
  /** The token that says who the user is. */
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly scope: string | undefined;
  /** In seconds. */
  readonly expiresIn: number | undefined;
}

const MAX_TOKEN_LENGTH = 16 * 1024;

/** Token of the provider that says who the user is: the ID token where nobody can read the access token. */
export type ReadableToken = "access_token" | "id_token" | "readable";

/**
 * Reads a token response.
 * @param wanted `readable`: the access token if it is a JWT, or there is no ID token.
 * @throws {OAuthError} `server_error` when it has no bearer token.
 */
export function readTokens(
  response: JsonObject,
  wanted: ReadableToken,
): ProviderTokens {
  const token = wanted === "readable" ? readableOf(response) : wanted;
  const accessToken = stringMember(response, token);
  const type = stringMember(response, "token_type")?.toLowerCase();
  if (
    accessToken === undefined || accessToken.length > MAX_TOKEN_LENGTH ||
    type !== "bearer"
  ) {
    throw misconfigured(
      token === "id_token"
        ? "its response has no ID token"
        : "its response has no bearer token",
    );
  }
  const { expires_in: expiresIn } = response;
  return {
    accessToken,
    refreshToken: stringMember(response, "refresh_token"),
    scope: stringMember(response, "scope"),
    expiresIn: typeof expiresIn === "number" && expiresIn >= 0
      ? Math.floor(expiresIn)
      : undefined,
  };
}

function readableOf(response: JsonObject): "access_token" | "id_token" {
  const accessToken = stringMember(response, "access_token") ?? "";
  const isJwt = accessToken.split(".").length === 3;
  return isJwt || stringMember(response, "id_token") === undefined
    ? "access_token"
    : "id_token";
}

/**
 * Returns the client's error for an error of the provider's token endpoint. Invalid grants, scopes and resources are the
 * client's; other errors are between the gateway and the provider.
 */
export function tokenError(status: number, response: JsonObject): OAuthError {
  const code = stringMember(response, "error")?.slice(0, 100);
  const detail = `status ${status}, error ${JSON.stringify(code ?? "unknown")}`;
  const rejected = (code: OAuthErrorCode, what: string) =>
    new OAuthError(code, `the identity provider rejected the ${what}`, detail);
  switch (code) {
    case "invalid_grant":
      return rejected(code, "grant");
    case "invalid_scope":
      return rejected(code, "scope");
    case "invalid_target":
      return rejected(code, "resource");
    default:
      return status >= 500 || status === 429
        ? unavailable(detail)
        : misconfigured(detail);
  }
}

/** Creates the error for a provider that is unreachable or overloaded. */
export function unavailable(detail: string): OAuthError {
  return new OAuthError(
    "temporarily_unavailable",
    "the identity provider is not available",
    detail,
    5,
  );
}

/** Creates the error for a provider that rejects the gateway, or whose response is unusable. */
export function misconfigured(detail: string): OAuthError {
  return new OAuthError(
    "server_error",
    "the identity provider did not accept the gateway",
    `${detail}; check clientId, clientSecret and the redirect URI at the provider`,
  );
}
