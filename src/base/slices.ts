import { setImmediate, setTimeout } from "node:timers";
import type { Clock } from "./clock.ts";

/** Length of a slice: short enough not to delay requests noticeably, long enough that yielding, which takes two milliseconds or more, costs little. */
const SLICE_MS = 5;

/** Runs stepwise work, yielding to the event loop every few milliseconds. Rejects between two slices once `signal` aborts. */
export async function runInSlices<Result>(
  steps: Iterator<void, Result>,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Result> {
  let startedAt = clock.monotonic();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (clock.monotonic() - startedAt < SLICE_MS) continue;
    await yieldToEventLoop();
    signal?.throwIfAborted();
    startedAt = clock.monotonic();
  }
}

/** Items of a long list per step; shorter lists are mapped at once. */
const ITEMS_PER_STEP = 16;

/**
 * Lets a recursive function over nested lists run in steps: it maps short lists at once and leaves the items of long ones for `run`.
 *
 * The result is complete when `run` has ended; until then long lists lack items.
 */
export class DeferredLists {
  readonly #pending: (() => Generator<void>)[] = [];

  /** Appends the mapped items to `target`, now or while `run` runs. */
  fill<Item, Result>(
    target: Result[],
    items: readonly Item[],
    map: (item: Item, index: number) => Result,
  ): Result[] {
    if (items.length < ITEMS_PER_STEP) {
      for (const [index, item] of items.entries()) {
        target.push(map(item, index));
      }
    } else {
      this.#pending.push(function* () {
        for (const [index, item] of items.entries()) {
          target.push(map(item, index));
          if (index % ITEMS_PER_STEP === 0) yield;
        }
      });
    }
    return target;
  }

  /** Maps deferred lists in steps, also those that are added meanwhile. */
  *run(): Generator<void> {
    for (
      let next = this.#pending.shift();
      next !== undefined;
      next = this.#pending.shift()
    ) yield* next();
  }
}

/** Runs stepwise work without yielding. */
export function runToEnd<Result>(steps: Iterator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Turns of the event loop in which Deno polls for I/O at least once, also while V8 works in the background, as for garbage collection. */
const TURNS_PER_POLL = 61;

/**
 * Resolves after all other pending events have been handled, those of the network included.
 *
 * A timer alone is not enough: with a slice in every turn, no request would go on for 61 slices.
 */
export async function yieldToEventLoop(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = TURNS_PER_POLL;
  const turn = () => {
    if (--left === 0) resolve();
    else setImmediate(turn);
  };
  setImmediate(turn);
  await promise;
}

/**
 * Lets many long tasks share the event loop: one of them continues per turn, in the order of arrival.
 *
 * Tasks that each yield for themselves all continue in the same turn, and delay others by the sum of their slices.
 */
export class Turnstile {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a later turn of the event loop, in which no other task passes. */
  pass(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) void this.#releaseAll();
    });
  }

  async #releaseAll(): Promise<void> {
    for (; this.#waiting.length > 0; this.#waiting.shift()?.()) {
      await yieldToEventLoop();
    }
  }
}

/** The turnstile of all work on messages of clients and backends. */
export const messageWork: Turnstile = new Turnstile();
