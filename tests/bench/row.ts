/** One line of the table. */
export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** For instance `>= 0.85`; `-` for none. */
  readonly target: string;
  readonly met: boolean;
}

/** Creates a line. */
export function row(
  what: string,
  value: number,
  unit: string,
  target: string,
  met: boolean,
): Row {
  return { what, value, unit, target, met };
}
