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
): Row {
  return { what, value, unit, ...judge(value, bound), cpuMicros };
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
  { what, value, unit, target, met, cpuMicros }: Row,
): string {
  const cpu = cpuMicros === undefined ? "" : `${cpuMicros.toFixed(1)} µs CPU`;
  return [
    what.padEnd(48),
    `${value.toFixed(2)} ${unit}`.padStart(11),
    target.padEnd(8),
    (met ? "" : "MISSED").padEnd(6),
    cpu.padStart(12),
  ].join("  ").trimEnd();
}
