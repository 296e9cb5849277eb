/** Replaces a secret in everything that people read. */
export const REDACTION_MARKER = "<redacted>";

/** Removes values of environment variables from a configured string, so that it can be shown. */
export type Hide = (text: string) => string;

const alwaysSensitive = [
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  // API keys of LLM providers and their gateways.
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "ocp-apim-subscription-key",
  "x-amz-security-token",
  "x-auth-token",
  "x-access-token",
  // Browsers have no other field for a key of OpenAI's WebSockets, or for a token of Kubernetes.
  "sec-websocket-protocol",
  "x-csrf-token",
  "x-xsrf-token",
];

/** Lower-case names of headers whose values must not be shown. */
export type SensitiveHeaders = ReadonlySet<string>;

/** Combines the headers that are always sensitive with `config.sensitiveHeaders`, which may be in any case. */
export function createSensitiveHeaders(
  configured: Iterable<string>,
): SensitiveHeaders {
  return new Set([
    ...alwaysSensitive,
    ...Array.from(configured, (name) => name.toLowerCase()),
  ]);
}

/** Reports whether the value of a header must not be shown: it is in the list, or secret by its name, such as `x-door-secret`. @param name In lower case. */
export function isSecretHeader(
  name: string,
  sensitiveHeaders: SensitiveHeaders,
): boolean {
  return sensitiveHeaders.has(name) || secretHeader.test(name);
}

const secretHeader = /secret|passw|credential|private|api[-_]?key|token$/;

/** Returns the members of an object with their values redacted: metadata of an API key may hold a secret, such as one for a backend. */
export function redactValues(
  object: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.keys(object).map((name) => [name, REDACTION_MARKER]),
  );
}

/** Returns the names of the headers that an expression reads, in lower case: `["x-door"]` for `request.headers['x-door'] == 'a'`. */
export function headersReadBy(expression: string): readonly string[] {
  return Array.from(
    expression.matchAll(headerInExpression),
    ([, field, index]) => (field ?? index ?? "").toLowerCase(),
  );
}

const headerInExpression =
  /\brequest\s*\.\s*headers\s*(?:\.\s*(\w+)|\[\s*["']([^"'\\]+)["']\s*\])/g;

/** Shorter strings, quotes included, are separators and the like. */
const MIN_COMPARED_LENGTH = 8;

/** Redacts the strings of an expression that reads a sensitive header: what it compares the header with is a secret as well. */
export function hideCompared(
  expression: string,
  sensitiveHeaders: SensitiveHeaders = createSensitiveHeaders([]),
): string {
  const headers = headersReadBy(expression);
  if (!headers.some((name) => sensitiveHeaders.has(name))) return expression;
  return expression.replace(
    stringInExpression,
    (text, index: string | undefined) =>
      index === undefined && text.length >= MIN_COMPARED_LENGTH
        ? `'${REDACTION_MARKER}'`
        : text,
  );
}

/** A string, and what is before it if it is the name of a header. */
const stringInExpression =
  /(headers\s*\[\s*)?(?:"""[^]*?"""|\'\'\'[^]*?\'\'\'|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/g;

/** Redacts user, password and secret query parameters of a URL. */
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

/** Redacts the signatures of JWTs in a string: claims stay readable, the token becomes unusable. */
export function hideSignatures(text: string): string {
  // Most strings contain no token; `includes` finds that out faster than the expression.
  return text.includes("eyJ")
    ? text.replace(signature, `$1.${REDACTION_MARKER}`)
    : text;
}

const signature = /(?<![\w-])(eyJ[\w-]{2,}\.[\w-]{2,})\.[\w-]+/g;

/** Lower-case names of query parameters that hold secrets: OAuth, API keys, signed URLs. */
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
