/** Values by size, in bins that each are 19 % wider than the one before; plain data, so that threads can send it. */
export interface Histogram {
  /** Bin of the first count. */
  first: number;
  readonly counts: number[];
}

const MIN_MS = 0.05;
const BINS_PER_DOUBLING = 4;
/** Up to 20 minutes. */
const BINS = 100;

/** Creates a histogram without values. */
export function createHistogram(): Histogram {
  return { first: 0, counts: [] };
}

/** Adds the values of another histogram. */
export function mergeHistogram(into: Histogram, from: Histogram): void {
  const { first, counts } = from;
  for (let index = 0; index < counts.length; index++) {
    addToBin(into, first + index, counts[index] ?? 0);
  }
}

/** Returns the value below which a share of the values is, within the width of a bin; `null` without values. */
export function quantile(
  { first, counts }: Histogram,
  share: number,
): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let left = total * share;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && left <= count) {
      return lowerBound(first + index, Math.max(0, left) / count);
    }
    left -= count;
  }
  return null;
}

/** Returns the bin of a value in milliseconds. */
export function binOf(ms: number): number {
  if (!(ms > MIN_MS)) return 0;
  const bin = 1 + Math.floor(Math.log2(ms / MIN_MS) * BINS_PER_DOUBLING);
  return Math.min(bin, BINS - 1);
}

/** Returns a value within a bin. @param share 0 for its lower bound, 1 for its upper one. */
function lowerBound(bin: number, share: number): number {
  return bin === 0
    ? MIN_MS * share
    : MIN_MS * 2 ** ((bin - 1 + share) / BINS_PER_DOUBLING);
}

/** Counts values of a bin. */
export function addToBin(
  histogram: Histogram,
  bin: number,
  count: number,
): void {
  if (count === 0) return;
  const { counts } = histogram;
  if (counts.length === 0) histogram.first = bin;
  while (bin < histogram.first) {
    counts.unshift(0);
    histogram.first--;
  }
  const index = bin - histogram.first;
  while (index >= counts.length) counts.push(0);
  counts[index] = (counts[index] ?? 0) + count;
}
