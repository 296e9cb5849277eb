import { type Cancellation, createDeadline } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { GatewayError, type GatewayErrorCode } from "../../base/errors.ts";

/** A time limit, and the error when it is exceeded. */
export interface TimeLimit {
  readonly clock: Clock;
  /** 0 is unlimited. */
  readonly limitMs: number;
  readonly code: GatewayErrorCode;
  /** Name of the backend, for the message. */
  readonly backend: string;
}

/**
 * Runs `task` with a cancellation that follows `cancellation` and also fires at the limit. Without a limit it costs nothing.
 */
export function withinLimit<T>(
  cancellation: Cancellation,
  { clock, limitMs, code, backend }: TimeLimit,
  task: (cancellation: Cancellation) => Promise<T>,
): Promise<T> {
  if (limitMs === 0) return task(cancellation);
  const message = `No response from "${backend}" within ${limitMs} ms`;
  const deadline = createDeadline(
    cancellation,
    clock,
    limitMs,
    () => new GatewayError(code, "upstream", message),
  );
  return task(deadline.cancellation).finally(deadline.lift);
}
