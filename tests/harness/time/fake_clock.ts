import type { Clock } from "../../../src/base/clock.ts";

interface Timer {
  readonly dueAt: number;
  readonly callback: () => void;
}

/** A clock that moves only on `advance`; starts at 2026-01-01T00:00:00Z with monotonic time 0. */
export class FakeClock implements Clock {
  readonly #startedAt = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<Timer>();
  #elapsed = 0;

  /** Pending timers. */
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

  /** Advances the time and fires due timers in order, including those that they set. */
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
