import * as s from "./schema.ts";

const durationPattern = /^([0-9]{1,5}(h|m|s|ms)){1,4}$/;
const unitMs = new Map([["h", 3_600_000], ["m", 60_000], ["s", 1_000], [
  "ms",
  1,
]]);

/** A duration (Gateway API, GEP-2257): `500ms`, `10s`, `1m30s`; `0s` means unlimited where it is allowed. */
export const duration = s.named(
  "duration",
  s.pattern(
    durationPattern,
    'a duration such as "500ms", "10s" or "1m30s"',
    32,
  ),
);

/** A duration longer than zero. */
export const positiveDuration = s.refine(
  duration,
  s.rule(
    (text: string) => parseDuration(text) > 0,
    "expected a duration longer than zero",
  ),
);

/** Reports whether `text` is a duration, including `0s`. */
export function isDuration(text: string): boolean {
  return durationPattern.test(text);
}

/** Converts a duration to milliseconds: `1m30s` is 90 000. @throws {TypeError} When `text` is no duration. */
export function parseDuration(text: string): number {
  if (!isDuration(text)) {
    throw new TypeError(`invalid duration "${text}"`);
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)(h|ms|m|s)/g)) {
    total += Number(amount) * (unitMs.get(unit ?? "") ?? 0);
  }
  return total;
}

/** Converts an optional duration to milliseconds. */
export function optionalDuration(
  text: string | undefined,
): number | undefined {
  return text === undefined ? undefined : parseDuration(text);
}
