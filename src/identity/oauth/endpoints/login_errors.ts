import { OAuthError, type OAuthErrorCode } from "../protocol/oauth_error.ts";
import type { OAuthParameters } from "../protocol/oauth_parameters.ts";
import {
  type OAuthReply,
  redirectReply,
  withResponseParameters,
} from "../protocol/oauth_reply.ts";
import { MAX_STATE_LENGTH } from "./authorization_request.ts";

/** Error codes in the provider's redirects, and the codes that clients get for them. */
const clientErrorCodes: Readonly<Record<string, OAuthErrorCode>> = {
  access_denied: "access_denied",
  invalid_scope: "invalid_scope",
  invalid_target: "invalid_target",
  login_required: "login_required",
  consent_required: "access_denied",
  interaction_required: "login_required",
  temporarily_unavailable: "temporarily_unavailable",
};

/** Checks that the provider has logged the user in. @throws {OAuthError} */
export function expectSuccess(parameters: OAuthParameters): void {
  const error = parameters.get("error");
  if (error === undefined) return;
  throw new OAuthError(
    clientErrorCodes[error] ?? "server_error",
    "the identity provider did not log the user in",
    `error ${JSON.stringify(error.slice(0, 100))}`,
  );
}

/** The client to which the browser returns. */
interface Destination {
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly issuer: string;
}

/** Turns errors into a redirect to the client, with `iss` against mix-up attacks (RFC 9207 section 2). */
export async function redirectingErrors(
  destination: Destination,
  action: () => Promise<OAuthReply> | OAuthReply,
  cookies: readonly string[] = [],
): Promise<OAuthReply> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const location = locationOf(error, destination);
    return redirectReply(location, cookies, error.message);
  }
}

/** Returns the address that tells the client of an error. */
export function locationOf(
  { code, description }: OAuthError,
  { redirectUri, state, issuer }: Destination,
): string {
  return withResponseParameters(redirectUri, {
    error: code,
    error_description: description,
    state: (state?.length ?? 0) > MAX_STATE_LENGTH ? undefined : state,
    iss: issuer,
  });
}
