import type { Clock } from "../../base/clock.ts";

const TICK_MS = 500;

/** Something that gives up when its time has come. */
export interface Expiring {
  /** Called at every tick with the present time. */
  expire(now: number): void;
}

/**
 * One timer for all deadlines of a server.
 *
 * A timer per request would cost more than many requests do. A deadline here is a number that is compared twice a
 * second, and the present is as old as the last tick: nothing ends early, but up to a second late.
 */
export class Sweep {
  readonly #clock: Clock;
  readonly #members = new Set<Expiring>();
  #stop: (() => void) | undefined;
  #now = 0;
  #date = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Value of a `Date` header for the present (RFC 9110 section 6.6.1). */
  get date(): string {
    return this.#date;
  }

  /** The moment at which `timeoutMs` has passed for sure. */
  deadline(timeoutMs: number): number {
    return this.#now + TICK_MS + timeoutMs;
  }

  add(member: Expiring): void {
    this.#members.add(member);
    if (this.#stop === undefined) this.#start();
  }

  delete(member: Expiring): void {
    this.#members.delete(member);
    if (this.#members.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  #start(): void {
    this.#now = this.#clock.monotonic();
    this.#date = new Date(this.#clock.now()).toUTCString();
    this.#stop = this.#clock.setTimer(() => this.#tick(), TICK_MS);
  }

  #tick(): void {
    this.#start();
    for (const member of this.#members) member.expire(this.#now);
  }
}
