import { GatewayError } from "../../base/errors.ts";
import type { ServerContext } from "./server_options.ts";

/**
 * Limits how long a client keeps the gateway waiting for a request body.
 *
 * The client has a credit of `bodyIdleTimeoutMs`. Waiting uses it up and bytes restore it, at `minBodyBytesPerSecond`, but
 * never beyond its start: a fast beginning does not pay for a slow end. Only waiting counts, not the time in which the backend
 * does not take the bytes.
 */
export class BodyPace {
  readonly #context: Pick<ServerContext, "clock" | "limits">;
  readonly #bytesPerSecond: number;
  /** Milliseconds of waiting that are left. */
  #creditMs: number;
  /** Monotonic; `undefined` while nobody waits. */
  #waitingSince: number | undefined;
  #waitedFrom = 0;

  /** @param hasRate Whether the minimum rate applies; without it, each wait has the whole credit. */
  constructor(
    context: Pick<ServerContext, "clock" | "limits">,
    hasRate = true,
  ) {
    this.#context = context;
    const { minBodyBytesPerSecond, bodyIdleTimeoutMs } = context.limits;
    this.#bytesPerSecond = hasRate ? minBodyBytesPerSecond : 0;
    this.#creditMs = bodyIdleTimeoutMs;
  }

  /** Begins a wait; returns the monotonic time at which it has taken too long. */
  wait(): number {
    const now = this.#context.clock.monotonic();
    this.#waitingSince = now;
    this.#waitedFrom = this.#creditMs;
    return now + this.#creditMs;
  }

  /** Ends the wait with `count` bytes. */
  arrived(count: number): void {
    if (this.#waitingSince === undefined) return;
    const waitedMs = this.#context.clock.monotonic() - this.#waitingSince;
    this.#waitingSince = undefined;
    if (this.#bytesPerSecond === 0) return;
    this.#creditMs = Math.min(
      this.#context.limits.bodyIdleTimeoutMs,
      this.#creditMs - waitedMs + count * 1000 / this.#bytesPerSecond,
    );
  }

  /** Describes a wait that took too long. */
  get error(): GatewayError {
    const isIdle = this.#waitedFrom >= this.#context.limits.bodyIdleTimeoutMs;
    const message = isIdle
      ? "Cannot read the body: no data in time"
      : `Cannot read the body: slower than ${this.#bytesPerSecond} bytes per second`;
    return new GatewayError("request_timeout", "downstream", message);
  }
}
