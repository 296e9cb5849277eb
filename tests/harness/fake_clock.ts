import type { Clock } from "../../src/base/clock.ts";

interface Timer {
  readonly dueAt: number;
  readonly callback: () => void;
}

/** A clock that stands still until `advance`; starts at 2026-01-01T00:00:00Z, its monotonic time at 0. */
export class FakeClock implements Clock {
  readonly #startedAt = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<Timer>();
  #elapsed = 0;

  /** Timers that have not fired. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#startedAt + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    const timer = { dueAt: this.#elapsed + delayMs, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Moves time on and fires what becomes due, in order; timers that those set too. */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.dueAt <= end)
        .sort((a, b) => a.dueAt - b.dueAt)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#elapsed = Math.max(this.#elapsed, due.dueAt);
      due.callback();
    }
    this.#elapsed = end;
  }
}
