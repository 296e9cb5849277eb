import { setImmediate } from "node:timers";

/** So many items are worked on at a time: less than a millisecond for what is cheap, such as describing a route. */
const itemsPerSlice = 32;

/** As `map` of an array, but lets everything else go on in between, so that thousands of items do not hold up requests. */
export async function mapInSlices<Item, Result>(
  items: Iterable<Item>,
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    results.push(map(item));
    if (results.length % itemsPerSlice === 0) await giveWay();
  }
  return results;
}

/** Resolves after the event loop has turned once. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
