import { LlmError } from "./dialect.ts";

/** Faults and delays that request headers ask for, to test a client or a gateway. */
export interface Knobs {
  /** `x-playground-status`: reject with this status. */
  readonly status: number | undefined;
  /** `x-playground-delay-ms`: pause before the response head. */
  readonly delayMs: number;
  /** `x-playground-event-delay-ms`: pause before each event of a stream. */
  readonly eventDelayMs: number;
  /** `x-playground-cut-after`: close the connection after this many events of a stream. */
  readonly cutAfter: number;
}

/** Reads the headers. @throws {LlmError} When a value is out of range. */
export function readKnobs(headers: Headers): Knobs {
  const read = (name: string, least: number, most: number) => {
    const value = headers.get(name);
    if (value === null) return undefined;
    const number = Number(value);
    if (Number.isInteger(number) && number >= least && number <= most) {
      return number;
    }
    const expected =
      `expected a whole number from ${least} to ${most}, got ${value}`;
    throw new LlmError(400, `Cannot read "${name}": ${expected}`);
  };
  return {
    status: read("x-playground-status", 400, 599),
    delayMs: read("x-playground-delay-ms", 0, 600_000) ?? 0,
    eventDelayMs: read("x-playground-event-delay-ms", 0, 600_000) ?? 0,
    cutAfter: read("x-playground-cut-after", 0, 1_000_000) ?? Infinity,
  };
}
