import type { HttpMatch } from "../api/http_match.ts";
import {
  createSensitiveHeaders,
  redactionMarker,
  sensitiveParameters,
} from "../base/redaction.ts";

/** Fields of policies that hold secrets: `apiKeyAuthentication.keys`, `basicAuthentication.users`. */
const secretFields: ReadonlySet<string> = new Set(["keys", "users"]);

/**
 * A copy of policy configuration that may be shown: values of sensitive headers and fields that hold secrets are replaced.
 *
 * @param sensitiveHeaders In lower case, besides those that always are.
 */
export function redactPolicy(
  value: unknown,
  sensitiveHeaders: ReadonlySet<string>,
): unknown {
  const headers = createSensitiveHeaders(sensitiveHeaders);
  return redactValue(value, headers);
}

/** A copy of a match that may be shown: a route may be chosen by a credential. */
export function redactMatch(
  match: HttpMatch,
  redact: (value: unknown) => unknown,
): object {
  const { headers, queryParams, ...rest } = match;
  return {
    ...rest,
    headers: redact(headers),
    queryParams: queryParams?.map((param) =>
      sensitiveParameters.has(param.name.toLowerCase())
        ? { ...param, value: redactionMarker }
        : param
    ),
  };
}

function redactValue(value: unknown, headers: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => redactValue(item, headers));
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const name = entries.find(([field]) => field === "name")?.[1];
  const isSensitive = typeof name === "string" &&
    headers.has(name.toLowerCase());
  return Object.fromEntries(entries.map(([field, item]) => {
    const isSecret = secretFields.has(field) ||
      (isSensitive && field === "value");
    return [field, isSecret ? redactionMarker : redactValue(item, headers)];
  }));
}
