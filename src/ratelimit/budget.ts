/** How much may be used in a window, and what happens at its end. */
export interface BudgetDefinition {
  readonly unit: "requests" | "tokens";
  /** What every window gives; at least 1. */
  readonly base: number;
  /** What may be used beyond `base` in one window when it was saved up in earlier ones; 0 or more. */
  readonly burst: number;
  /** Length of a window. It opens with the first request that is counted. */
  readonly windowMs: number;
  /** What becomes of tokens used beyond the budget: forgotten at the reset, or taken from the next window. */
  readonly overshoot: "Forgive" | "Carry";
}

/** A budget as headers, log and trace show it. */
export interface BudgetReading {
  readonly unit: BudgetDefinition["unit"];
  /** Base and burst together. */
  readonly limit: number;
  /** Never below 0. */
  readonly remaining: number;
  /** Until the window resets; its whole length while it is not open. */
  readonly resetMs: number;
  readonly windowMs: number;
}

/** The reading that resets last. */
export function longestWait<Reading extends BudgetReading>(
  readings: readonly Reading[],
): Reading | undefined {
  let [longest] = readings;
  for (const reading of readings) {
    if (longest === undefined || reading.resetMs > longest.resetMs) {
      longest = reading;
    }
  }
  return longest;
}
