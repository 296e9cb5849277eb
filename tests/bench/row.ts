/** One line of the table. */
export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** For instance `>= 0.85`; `-` for none. */
  readonly target: string;
  readonly met: boolean;
  /** CPU time of the gateway per request, in microseconds; `undefined` where that means nothing. */
  readonly cpuMicros: number | undefined;
  /** Instructions per request of the base and of the gateway; see `Comparison`. */
  readonly instructions: readonly number[];
}

/** The range that a value should be in. */
export type Bound =
  | { readonly atLeast: number }
  | { readonly atMost: number }
  | undefined;

/** Creates a line. */
export function row(
  what: string,
  value: number,
  unit: string,
  bound: Bound,
  cpuMicros?: number,
  instructions: readonly number[] = [],
): Row {
  return { what, value, unit, ...judge(value, bound), cpuMicros, instructions };
}

function judge(
  value: number,
  bound: Bound,
): Pick<Row, "target" | "met"> {
  if (bound === undefined) return { target: "-", met: true };
  return "atLeast" in bound
    ? { target: `>= ${bound.atLeast}`, met: value >= bound.atLeast }
    : { target: `<= ${bound.atMost}`, met: value <= bound.atMost };
}

/** Formats a line of the table. */
export function formatRow(
  { what, value, unit, target, met, cpuMicros, instructions }: Row,
): string {
  const counts = instructions.map((count) => (count / 1000).toFixed(0));
  const cpu = cpuMicros === undefined ? "" : `${cpuMicros.toFixed(1)} µs CPU`;
  return [
    what.padEnd(48),
    `${value.toFixed(2)} ${unit}`.padStart(11),
    target.padEnd(8),
    (met ? "" : "MISSED").padEnd(6),
    cpu.padStart(12),
    ...counts.length === 0 ? [] : [`${counts.join(" → ")} k instructions`],
  ].join("  ").trimEnd();
}
