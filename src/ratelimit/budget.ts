/** Amount that may be used in a window, and what happens at its end. */
export interface BudgetDefinition {
  readonly unit: "requests" | "tokens";
  /** Amount that every window adds; at least 1. */
  readonly base: number;
  /** Amount beyond `base` that one window can use if earlier ones left it over; 0 or more. */
  readonly burst: number;
  /** Length of a window. It opens with the first request that is counted. */
  readonly windowMs: number;
  /** Tokens used beyond the budget are forgotten at the reset, or subtracted from the next window. */
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

/** Returns the reading that resets last. */
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
