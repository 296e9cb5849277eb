/** Fraction of the golden ratio, whose multiples are spread most evenly. */
const STEP = (Math.sqrt(5) - 1) / 2;

/**
 * Returns a function that returns numbers in [0, 1), any run of which is spread evenly, so that shares are kept with few of them too.
 *
 * https://en.wikipedia.org/wiki/Low-discrepancy_sequence#Additive_recurrence
 */
export function createEvenSequence(random: () => number): () => number {
  let current = random();
  return () => {
    current = (current + STEP) % 1;
    return current;
  };
}
