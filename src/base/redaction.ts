/** What stands in place of a secret wherever people read. */
export const REDACTION_MARKER = "<redacted>";

/** A text of the configuration as it may be shown: without what the environment gave to it. */
export type Hide = (text: string) => string;

const alwaysSensitive = [
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  // Where LLM providers and their gateways take keys.
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "ocp-apim-subscription-key",
  "x-amz-security-token",
];

/** Names, in lower case, of headers whose values must not be shown. */
export type SensitiveHeaders = ReadonlySet<string>;

/** The headers that are always sensitive and those of `config.sensitiveHeaders`, which may be in any case. */
export function createSensitiveHeaders(
  configured: Iterable<string>,
): SensitiveHeaders {
  return new Set([
    ...alwaysSensitive,
    ...Array.from(configured, (name) => name.toLowerCase()),
  ]);
}

/** A URL without the user, password and secret query parameters that it may hold. */
export function redactUrl(url: string): string {
  return url
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${REDACTION_MARKER}@`)
    .replace(
      /([?&])([^=&#]+)=[^&#]*/g,
      (pair, start: string, name: string) =>
        sensitiveParameters.has(name.toLowerCase())
          ? `${start}${name}=${REDACTION_MARKER}`
          : pair,
    );
}

/** A text without the signatures of the JWTs in it: what such a token says may be shown, but nobody can use it. */
export function hideSignatures(text: string): string {
  // Most texts hold nothing of the kind, which is found out faster without an expression.
  return text.includes("eyJ")
    ? text.replace(signature, `$1.${REDACTION_MARKER}`)
    : text;
}

const signature = /(?<![\w-])(eyJ[\w-]{2,}\.[\w-]{2,})\.[\w-]+/g;

/** Names, in lower case, of query parameters that hold secrets: of OAuth, API keys and signed URLs. */
export const sensitiveParameters: ReadonlySet<string> = new Set([
  "access_token",
  "refresh_token",
  "id_token",
  "id_token_hint",
  "token",
  "auth",
  "jwt",
  "code",
  "code_verifier",
  "client_secret",
  "client_assertion",
  "assertion",
  "api_key",
  "apikey",
  "api-key",
  "subscription-key",
  "key",
  "secret",
  "password",
  "sig",
  "signature",
  "x-amz-credential",
  "x-amz-security-token",
  "x-amz-signature",
  "x-goog-credential",
  "x-goog-signature",
]);
