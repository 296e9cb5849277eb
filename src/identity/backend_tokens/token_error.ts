import { describeError, GatewayError } from "../../base/errors.ts";
import type { TokenClient } from "./backend_credentials.ts";
import type { OAuthLibrary } from "./oauth_library.ts";

type Code = Extract<
  GatewayError["code"],
  "caller_rejected" | "credentials_rejected" | "credentials_unavailable"
>;

/** Creates the error of a request without a token for its backend. @param problem Completes `Cannot get a token for backend "…": …`; has no secret. */
export function tokenError(
  code: Code,
  { backend }: Pick<TokenClient, "backend">,
  problem: string,
): GatewayError {
  return new GatewayError(
    code,
    "gateway",
    `Cannot get a token for backend "${backend}": ${problem}`,
  );
}

/** The connection of a user cannot be read, so that nobody can tell whether it still is valid. */
export class UnreadConnectionError extends GatewayError {
  constructor({ backend }: Pick<TokenClient, "backend">, cause: unknown) {
    super(
      "credentials_unavailable",
      "gateway",
      `Cannot get a token for backend "${backend}": the connection of the user cannot be read`,
      { cause },
    );
  }
}

/** Errors about the user, and not about the client (RFC 6749 section 5.2, RFC 8693 section 2.2.2). */
const callerErrors: ReadonlySet<string> = new Set([
  "access_denied",
  "consent_required",
  "interaction_required",
  "invalid_grant",
  "invalid_request",
  "invalid_target",
]);

/**
 * Returns the error of a request to an authorization server. Descriptions of servers may quote what they got, so that only the code
 * of an error is shown.
 * @param isOfCaller The error may be about the user.
 */
export function toTokenError(
  error: unknown,
  client: Pick<TokenClient, "backend" | "clientId">,
  isOfCaller: boolean,
  oauth: OAuthLibrary,
): GatewayError {
  if (error instanceof oauth.ResponseBodyError) {
    const code = /^[a-z_]{1,64}$/.test(error.error)
      ? error.error
      : "an unknown error";
    const isOverloaded = error.status >= 500 || error.status === 429;
    return tokenError(
      isOverloaded
        ? "credentials_unavailable"
        : isOfCaller && callerErrors.has(code)
        ? "caller_rejected"
        : "credentials_rejected",
      client,
      `the authorization server responds with ${error.status}, ${code}`,
    );
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    const problem =
      `the authorization server rejects the client "${client.clientId}" with ${error.status}`;
    return tokenError("credentials_rejected", client, problem);
  }
  return tokenError(
    "credentials_unavailable",
    client,
    `the authorization server did not respond as expected: ${
      // Errors of the library have the response as their cause.
      error instanceof GatewayError
        ? describeError(error)
        : error instanceof Error
        ? error.message
        : String(error)}`,
  );
}
