/** Error codes of RFC 6749 sections 4.1.2.1 and 5.2, RFC 7591 section 3.2.2, RFC 8707 section 2 and RFC 7009. */
export type OAuthErrorCode =
  | "access_denied"
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_request"
  | "invalid_scope"
  | "invalid_target"
  | "invalid_token"
  | "login_required"
  | "server_error"
  | "temporarily_unavailable"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type";

/** A request that the authorization server rejects. The client gets the description, which never has a secret. */
export class OAuthError extends Error {
  override readonly name = "OAuthError";

  constructor(
    readonly code: OAuthErrorCode,
    readonly description: string,
    /** Details for log and trace only. */
    readonly detail?: string,
    /** Seconds after which another attempt may succeed, for `Retry-After`. */
    readonly retryAfter?: number,
  ) {
    super(detail === undefined ? description : `${description}: ${detail}`);
  }
}

/** Creates the error for a code or refresh token that is not valid. */
export function invalidGrant(description: string): OAuthError {
  return new OAuthError("invalid_grant", description);
}
