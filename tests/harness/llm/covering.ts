/**
 * Selects items in which every two values of two axes that occur together in `items` still occur together.
 *
 * Greedy and deterministic: takes the item with the most pairs that are still missing, the first of several.
 * @param axesOf Values of an item, one for each axis, in the same order for all items.
 */
export function coverPairs<T>(
  items: readonly T[],
  axesOf: (item: T) => readonly unknown[],
): T[] {
  const candidates = items.map((item) => ({
    item,
    pairs: pairsOf(axesOf(item)),
  }));
  const missing = new Set(candidates.flatMap(({ pairs }) => pairs));
  const chosen: T[] = [];
  while (missing.size > 0) {
    const counts = candidates.map(({ pairs }) =>
      pairs.filter((pair) => missing.has(pair)).length
    );
    const best = candidates[counts.indexOf(Math.max(...counts))];
    if (best === undefined) break;
    chosen.push(best.item);
    for (const pair of best.pairs) missing.delete(pair);
  }
  return chosen;
}

function pairsOf(values: readonly unknown[]): string[] {
  return values.flatMap((value, axis) =>
    values.slice(axis + 1).map((other, index) =>
      JSON.stringify([axis, value, axis + 1 + index, other])
    )
  );
}
