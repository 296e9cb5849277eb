/**
 * What one evaluation may cost. CEL has no loops but macros such as `all`, and those that stand in one another multiply what a
 * client sends.
 */

/** Items that macros may go through in one evaluation, all of them together. */
const MAX_STEPS = 100_000;
/** How much text counts as one step, for a function that a macro calls. */
const TEXT_PER_STEP = 256;
/** How many items count as one. */
const ITEMS_PER_STEP = 16;

// Evaluations are synchronous and never stand in one another, so that one counter is enough.
let stepsLeft = MAX_STEPS;
let inMacros = false;

/** The next evaluation begins. */
export function resetCost(): void {
  stepsLeft = MAX_STEPS;
  inMacros = false;
}

/**
 * Counts the items that a macro is about to go through.
 * @throws {RangeError} When they are too many.
 */
export function countItems(range: unknown): void {
  inMacros = true;
  take(1 + itemsOf(range));
}

/**
 * Counts what a function reads or makes. What runs before the first macro runs once, and is free.
 * @throws {RangeError} When it is too much.
 */
export function countValue(value: unknown): void {
  if (!inMacros) return;
  if (typeof value === "string" || value instanceof Uint8Array) {
    take(Math.trunc(value.length / TEXT_PER_STEP));
  } else take(Math.trunc(itemsOf(value) / ITEMS_PER_STEP));
}

function take(steps: number): void {
  stepsLeft -= steps;
  if (stepsLeft < 0) {
    throw new RangeError("the expression takes too many steps");
  }
}

/** Lists and maps have a `size`. */
function itemsOf(value: unknown): number {
  return typeof value === "object" && value !== null && "size" in value &&
      typeof value.size === "number"
    ? value.size
    : 0;
}
