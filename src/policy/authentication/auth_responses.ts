import { textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import {
  errorOf,
  type Explain,
  namedPart,
} from "../../telemetry/failures/explanation.ts";

/** Statuses of the OAuth error codes (RFC 6750, RFC 7591) and of the gateway's own. */
const statuses = {
  invalid_client_metadata: 400,
  unauthorized: 401,
  invalid_token: 401,
  forbidden: 403,
  insufficient_scope: 403,
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
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

/** Parameters of a `WWW-Authenticate` field for a token; `undefined` ones are left out. */
export interface BearerChallenge {
  /** Default: `Bearer`. */
  readonly scheme?: "Bearer" | "DPoP" | undefined;
  /** URL of the protected-resource metadata (RFC 9728 section 5.1). */
  readonly resourceMetadata?: string | undefined;
  /** Code of RFC 6750 section 3.1, or RFC 9449 section 7.1; never set when the request had no token. */
  readonly error?:
    | "invalid_token"
    | "insufficient_scope"
    | "invalid_dpop_proof"
    | "use_dpop_nonce"
    | undefined;
  /** For people; never a value from the token. */
  readonly description?: string | undefined;
  /** Scopes that the request requires, separated by spaces. */
  readonly scope?: string | undefined;
  /** Algorithms of DPoP proofs, separated by spaces. */
  readonly algs?: string | undefined;
}

/** Formats `WWW-Authenticate`: `Bearer resource_metadata="https://gw/.well-known/…", error="invalid_token"`. */
export function bearerChallenge(challenge: BearerChallenge): string {
  const parameters = [
    ["resource_metadata", challenge.resourceMetadata],
    ["error", challenge.error],
    ["error_description", challenge.description],
    ["scope", challenge.scope],
    ["algs", challenge.algs],
  ] as const;
  const { scheme = "Bearer" } = challenge;
  const text = parameters.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quote(value)}`]
  ).join(", ");
  return text === "" ? scheme : `${scheme} ${text}`;
}

/** Formats a quoted string of RFC 6750 section 3: printable ASCII without `"` and `\`. */
function quote(value: string): string {
  return `"${value.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "'")}"`;
}

/**
 * Explains requests that a policy could not authenticate.
 * @param credential Header with the credential, where there is only one place for it.
 */
export function explainAuthentication(
  { credential, advice, unavailable }: {
    readonly credential?: string;
    readonly advice: string;
    /** Advice for a 503, where the credential was not checked. */
    readonly unavailable?: string;
  },
): Explain {
  return (failed) => {
    const isUnavailable = failed.finished.status === 503;
    return {
      cause: `The caller ${
        isUnavailable ? "could not be" : "was not"
      } authenticated: ${errorOf(failed)}.`,
      failing: isUnavailable ? undefined : namedPart("header", credential),
      advice: isUnavailable ? unavailable ?? advice : advice,
    };
  };
}
