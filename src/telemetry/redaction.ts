/** What stands in place of a secret wherever people read. */
export const redactionMarker = "<redacted>";

const alwaysSensitive = [
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
];

/** Names, in lower case, of headers whose values must not be shown. */
export type SensitiveHeaders = ReadonlySet<string>;

/** The headers that are always sensitive and those of `config.sensitiveHeaders`, which may be in any case. */
export function createSensitiveHeaders(
  configured: readonly string[],
): SensitiveHeaders {
  return new Set([
    ...alwaysSensitive,
    ...configured.map((name) => name.toLowerCase()),
  ]);
}

/** Header fields fit to be shown; names keep their spelling, the forwarded message keeps its values. */
export function redactHeaders(
  fields: Iterable<readonly [name: string, value: string]>,
  sensitive: SensitiveHeaders,
): (readonly [name: string, value: string])[] {
  return Array.from(
    fields,
    (
      [name, value],
    ) => [name, sensitive.has(name.toLowerCase()) ? redactionMarker : value],
  );
}
