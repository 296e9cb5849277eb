/** More tokens than any answer has; what a provider claims beyond it counts as this many. */
export const MAX_TOKEN_COUNT = 1e9;

/**
 * A number of tokens as a provider wrote it; `undefined` when it is none, for example negative or not finite.
 *
 * Fractions are rounded up. Digits in a string count: Protobuf's JSON writes 64-bit integers so.
 */
export function toTokenCount(value: unknown): number | undefined {
  if (typeof value === "string") {
    return /^\d{1,15}$/.test(value) ? toTokenCount(Number(value)) : undefined;
  }
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    return undefined;
  }
  return Math.min(Math.ceil(value), MAX_TOKEN_COUNT);
}
