/** Parameters of a `WWW-Authenticate: Bearer` field; `undefined` ones are left out. */
export interface BearerChallenge {
  /** URL of the protected-resource metadata (RFC 9728 section 5.1). */
  readonly resourceMetadata?: string | undefined;
  /** Code of RFC 6750 section 3.1; never set when the request had no token. */
  readonly error?: "invalid_token" | "insufficient_scope" | undefined;
  /** For people; never a value from the token. */
  readonly description?: string | undefined;
  /** Scopes that the request requires, separated by spaces. */
  readonly scope?: string | undefined;
}

/** Formats `WWW-Authenticate`: `Bearer resource_metadata="https://gw/.well-known/…", error="invalid_token"`. */
export function bearerChallenge(challenge: BearerChallenge): string {
  const parameters = [
    ["resource_metadata", challenge.resourceMetadata],
    ["error", challenge.error],
    ["error_description", challenge.description],
    ["scope", challenge.scope],
  ] as const;
  const text = parameters.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quote(value)}`]
  ).join(", ");
  return text === "" ? "Bearer" : `Bearer ${text}`;
}

/** Formats a quoted string of RFC 6750 section 3: printable ASCII without `"` and `\`. */
function quote(value: string): string {
  return `"${value.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "'")}"`;
}
