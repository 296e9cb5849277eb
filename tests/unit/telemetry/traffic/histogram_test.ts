import assert from "node:assert/strict";
import {
  addToBin,
  binOf,
  createHistogram,
  mergeHistogram,
  quantile,
} from "../../../../src/telemetry/traffic/histogram.ts";

/** Width of a bin. */
const FACTOR = 2 ** (1 / 4);

function histogramOf(values: readonly number[]) {
  const histogram = createHistogram();
  for (const value of values) addToBin(histogram, binOf(value), 1);
  return histogram;
}

/** Values from 0.06 ms to 10 minutes, most of them small; not in order. */
const values = Array.from(
  { length: 5000 },
  (_, index) => 0.06 * 10_000_000 ** (((index * 7919) % 5000 / 5000) ** 3),
);
const sorted = values.toSorted((a, b) => a - b);

for (const share of [0.01, 0.5, 0.9, 0.95, 0.99, 0.999]) {
  Deno.test(`the quantile ${share} is right within the width of a bin`, () => {
    const exact = sorted[Math.floor(share * sorted.length)] ?? 0;
    const found = quantile(histogramOf(values), share) ?? 0;

    assert(
      found <= exact * FACTOR && found >= exact / FACTOR,
      `${found} for ${exact}`,
    );
  });
}

Deno.test("histograms of parts are together that of the whole", () => {
  const parts = [values.slice(0, 10), values.slice(10, 3000)];
  const rest = histogramOf(values.slice(3000));

  for (const part of parts) mergeHistogram(rest, histogramOf(part));

  assert.deepEqual(rest, histogramOf(values));
});

Deno.test("a copy does not change with its original", () => {
  const original = histogramOf([5]);
  const copy = createHistogram();
  mergeHistogram(copy, original);
  addToBin(original, binOf(0.1), 1);
  addToBin(original, binOf(5000), 1);

  assert.deepEqual(copy, histogramOf([5]));
});

Deno.test("values beyond the range are in the first and last bin, and none has no quantile", () => {
  const extremes = histogramOf([0, -1, NaN, 1e12]);

  assert.equal(extremes.counts.length, 100);
  assert.equal(extremes.counts[0], 3);
  assert((quantile(extremes, 1) ?? 0) > 1_000_000);
  assert.equal(quantile(createHistogram(), 0.5), null);
});
