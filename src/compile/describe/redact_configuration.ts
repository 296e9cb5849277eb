import type { HttpMatch } from "../../api/resources/http_match.ts";
import {
  type Hide,
  REDACTION_MARKER,
  redactUrl,
  type SensitiveHeaders,
  sensitiveParameters,
} from "../../base/redaction.ts";

/** A copy of configuration that may be shown. */
export type Redact = (value: unknown) => unknown;

/** What must not be shown. */
export interface Secrets {
  readonly sensitiveHeaders: SensitiveHeaders;
  /** Texts that environment variables gave; see `ResourceSet.environment`. */
  readonly environment: readonly string[];
}

/** Fields of policies that hold secrets: `apiKeyAuthentication.keys`, `basicAuthentication.users`. */
const secretFields: ReadonlySet<string> = new Set(["keys", "users"]);

/** Fields with free text, such as expressions, in which a secret may stand that the environment gave. */
const textFields: ReadonlySet<string> = new Set([
  "value",
  "body",
  "key",
  "when",
  "matchExpressions",
]);

/** Whether the environment may have meant it to be secret: shorter texts occur elsewhere by chance. */
export function isHideable(text: string): boolean {
  return text.length >= 6;
}

/** Takes out of texts what the environment gave; see `ResourceSet.environment`. */
export function createHiding(environment: readonly string[] = []): Hide {
  // Longest first, so that what holds another goes as a whole.
  const given = environment.filter(isHideable)
    .toSorted((a, b) => b.length - a.length);
  return (text) =>
    given.reduce(
      (shown, secret) => shown.replaceAll(secret, REDACTION_MARKER),
      text,
    );
}

/**
 * Makes copies of policy configuration that may be shown: without values of sensitive headers, fields that hold secrets, credentials
 * in URLs, and what the environment gave to headers, bodies and expressions.
 */
export function createRedaction(
  { sensitiveHeaders, environment }: Secrets,
): Redact {
  const hide = createHiding(environment);
  const redactText = (field: string, text: string) => {
    if (field === "url") return redactUrl(text);
    return textFields.has(field) ? hide(text) : text;
  };
  const redact = (value: unknown, field = ""): unknown => {
    if (typeof value === "string") return redactText(field, value);
    if (Array.isArray(value)) return value.map((item) => redact(item, field));
    if (typeof value !== "object" || value === null) return value;
    const isSensitive = "name" in value && typeof value.name === "string" &&
      sensitiveHeaders.has(value.name.toLowerCase());
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => {
        const isSecret = secretFields.has(name) ||
          (isSensitive && name === "value");
        return [name, isSecret ? REDACTION_MARKER : redact(item, name)];
      }),
    );
  };
  return (value) => redact(value);
}

/** A copy of a match that may be shown: a route may be chosen by a credential. */
export function redactMatch(match: HttpMatch, redact: Redact): object {
  const { headers, queryParams, ...rest } = match;
  return {
    ...rest,
    headers: redact(headers),
    queryParams: redact(
      queryParams?.map((param) =>
        sensitiveParameters.has(param.name.toLowerCase())
          ? { ...param, value: REDACTION_MARKER }
          : param
      ),
    ),
  };
}
