/**
 * Limits the cost of an evaluation. The only loops of CEL are macros such as `all`; nested ones multiply the size of the input,
 * which the client controls.
 */

/** Limit of items that all macros of one evaluation iterate over. */
const MAX_STEPS = 100_000;
/** Characters that count as one step, for functions inside macros. */
const TEXT_PER_STEP = 256;
/** Items that count as one step. */
const ITEMS_PER_STEP = 16;

// Evaluations are synchronous and never nested, so one counter is enough.
let stepsLeft = MAX_STEPS;
let inMacros = false;
let isShared = false;

/** Resets the counter for the next evaluation. */
export function resetCost(): void {
  inMacros = false;
  if (!isShared) stepsLeft = MAX_STEPS;
}

/** Runs several evaluations that may take as many steps together as one. */
export function withSharedSteps<Result>(run: () => Result): Result {
  stepsLeft = MAX_STEPS;
  isShared = true;
  try {
    return run();
  } finally {
    isShared = false;
  }
}

/**
 * Counts the items of a macro's range.
 * @throws {RangeError} If the evaluation takes too many steps.
 */
export function countItems(range: unknown): void {
  inMacros = true;
  take(1 + itemsOf(range));
}

/**
 * Counts an argument or result of a function. Functions before the first macro run once, and are not counted.
 * @throws {RangeError} If the evaluation takes too many steps.
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

/** Returns the number of items of a list or map, which have a `size`. */
function itemsOf(value: unknown): number {
  return typeof value === "object" && value !== null && "size" in value &&
      typeof value.size === "number"
    ? value.size
    : 0;
}
