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
  configured: Iterable<string>,
): SensitiveHeaders {
  return new Set([
    ...alwaysSensitive,
    ...Array.from(configured, (name) => name.toLowerCase()),
  ]);
}
