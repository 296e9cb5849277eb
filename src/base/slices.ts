import { setTimeout } from "node:timers";
import type { Clock } from "./clock.ts";

/** So many items are worked on at a time: less than a millisecond for what is cheap, such as describing a route. */
const ITEMS_PER_SLICE = 32;

/** As `map` of an array, but lets everything else go on in between, so that thousands of items do not hold up requests. */
export async function mapInSlices<Item, Result>(
  items: Iterable<Item>,
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    results.push(map(item));
    if (results.length % ITEMS_PER_SLICE === 0) await giveWay();
  }
  return results;
}

/** So long is worked in one go: a request that comes meanwhile hardly notices, and the pauses in between make work little longer. */
const SLICE_MS = 10;

/** Does work that consists of steps, but lets everything else go on every few milliseconds. */
export async function runInSlices<Result>(
  steps: Iterator<void, Result>,
  clock: Clock,
): Promise<Result> {
  let startedAt = clock.monotonic();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (clock.monotonic() - startedAt < SLICE_MS) continue;
    await giveWay();
    startedAt = clock.monotonic();
  }
}

/** Does work that consists of steps, all at once. */
export function runToEnd<Result>(steps: Iterator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * Resolves after everything else has had its turn.
 *
 * A timer, not an immediate: while immediates are pending, Deno asks the operating system for what has arrived only every 61st turn.
 */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
