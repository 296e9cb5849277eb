const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** Length of the buckets of each range, and how many there are. */
export const rangeSteps = {
  "15m": { stepMs: 15 * SECOND_MS, count: 60 },
  "1h": { stepMs: MINUTE_MS, count: 60 },
  "24h": { stepMs: 15 * MINUTE_MS, count: 96 },
} as const;

/** A span of time that ends now. */
export type TrafficRange = keyof typeof rangeSteps;

/** The spans of time that traffic is kept for. */
export const trafficRanges: readonly TrafficRange[] = ["15m", "1h", "24h"];
