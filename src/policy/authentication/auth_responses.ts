import { textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";

/** Statuses of the OAuth error codes (RFC 6750, RFC 7591) and of the gateway's own. */
const statuses = {
  invalid_client_metadata: 400,
  unauthorized: 401,
  invalid_token: 401,
  forbidden: 403,
  insufficient_scope: 403,
  not_found: 404,
  method_not_allowed: 405,
  bad_gateway: 502,
  temporarily_unavailable: 503,
} as const;

/** Error code of a response that rejects a request. */
export type AuthRejection = keyof typeof statuses;

/**
 * Creates the response of a policy that rejects a request: `{"error":"unauthorized","error_description":"…"}`.
 * @param description For people, in lower case as `error` is; never a secret nor a value from a credential.
 * @param headers Such as `{ "www-authenticate": bearerChallenge(…) }`; `undefined` values are left out.
 */
export function rejectWith(
  error: AuthRejection,
  description: string,
  headers: Readonly<Record<string, string | undefined>> = {},
): ResponseMessage {
  const list = HeaderList.from([
    ["content-type", "application/json"],
    ["cache-control", "no-store"],
  ]);
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) list.set(name, value);
  }
  const body = { error, error_description: description };
  return {
    status: statuses[error],
    headers: list,
    body: textBody(JSON.stringify(body)),
  };
}
