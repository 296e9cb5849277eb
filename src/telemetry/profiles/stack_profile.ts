/** A function and a line in it. */
export interface Frame {
  readonly name: string;
  /** Source file such as `src/proxy/pipeline.ts`. */
  readonly file: string;
  /** First line of the function; 0 if unknown. */
  readonly startLine: number;
  readonly line: number;
}

/** A measurement at one call stack. */
export interface StackSample {
  /** Innermost call first. */
  readonly frames: readonly Frame[];
  /** One integer per value type. */
  readonly values: readonly number[];
  /** Thread, if known: `main`, `worker 1`, or `other` for the rest. */
  readonly thread?: string;
}

/** Samples with the types of their values. */
export interface StackProfile {
  /** Value types such as `[["samples", "count"], ["cpu", "nanoseconds"]]`; viewers show the last one by default. */
  readonly valueTypes: readonly (readonly [type: string, unit: string])[];
  readonly samples: readonly StackSample[];
  /** Sampling interval in the unit of the last value. */
  readonly period: number;
  /** Milliseconds since the epoch. */
  readonly takenAt: number;
  readonly durationMs: number;
}
