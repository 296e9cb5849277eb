import { type JsonObject, stringMember } from "../base/json.ts";
import { OAuthError } from "./oauth_error.ts";

/** Tokens as the provider issued them. */
export interface ProviderTokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly scope: string | undefined;
  /** In seconds. */
  readonly expiresIn: number | undefined;
}

const MAX_TOKEN_LENGTH = 16 * 1024;

/** Reads a token response. @throws {OAuthError} `server_error` when it has no bearer token. */
export function readTokens(answer: JsonObject): ProviderTokens {
  const accessToken = stringMember(answer, "access_token");
  const type = stringMember(answer, "token_type")?.toLowerCase();
  if (
    accessToken === undefined || accessToken.length > MAX_TOKEN_LENGTH ||
    type !== "bearer"
  ) {
    throw misconfigured("its response has no bearer token");
  }
  const { expires_in: expiresIn } = answer;
  return {
    accessToken,
    refreshToken: stringMember(answer, "refresh_token"),
    scope: stringMember(answer, "scope"),
    expiresIn: typeof expiresIn === "number" && expiresIn >= 0
      ? Math.floor(expiresIn)
      : undefined,
  };
}

/**
 * The error that a client gets for an error of the provider's token endpoint: `invalid_grant` is the client's, other errors are
 * between the gateway and the provider.
 */
export function tokenError(status: number, answer: JsonObject): OAuthError {
  const code = stringMember(answer, "error")?.slice(0, 100);
  const shown = `status ${status}, error ${JSON.stringify(code ?? "unknown")}`;
  switch (code) {
    case "invalid_grant":
      return new OAuthError(
        "invalid_grant",
        "the identity provider rejected the grant",
        shown,
      );
    case "invalid_scope":
      return new OAuthError(
        "invalid_scope",
        "the identity provider rejected the scope",
        shown,
      );
    case "invalid_target":
      return new OAuthError(
        "invalid_target",
        "the identity provider rejected the resource",
        shown,
      );
    default:
      return status >= 500 || status === 429
        ? unavailable(shown)
        : misconfigured(shown);
  }
}

/** The provider cannot be reached or is overloaded. */
export function unavailable(detail: string): OAuthError {
  return new OAuthError(
    "temporarily_unavailable",
    "the identity provider is not available",
    detail,
    5,
  );
}

/** The provider rejects the gateway, or its responses cannot be used. */
export function misconfigured(detail: string): OAuthError {
  return new OAuthError(
    "server_error",
    "the identity provider did not accept the gateway",
    `${detail}; check clientId, clientSecret and the redirect URI at the provider`,
  );
}
