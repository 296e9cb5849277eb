import type { Clock } from "../../../src/base/clock.ts";
import type { BoundedStore } from "../../../src/dataplane/calls/descriptions.ts";
import { json } from "../../http/admin_responses.ts";
import {
  describeProcessMemory,
  type MemoryReport,
} from "../../target/process_memory.ts";
import type { AdminTarget } from "../../target/target.ts";

/** Reports the memory. @param most Maximum number of stores, the fullest first; default all, by their kinds. */
export async function showMemory(
  target: AdminTarget,
  clock: Clock,
  most?: number,
): Promise<Response> {
  const { dataPlane } = target;
  const [ofThreads, workers] = await Promise.all([
    dataPlane.call("stores"),
    dataPlane.call("heaps"),
  ]);
  const all = [...ofThreads, ...target.stores()];
  const stores = most === undefined ? all : fullest(all, most);
  const { process, heap, heapSpaces } = describeProcessMemory();
  const report: MemoryReport = {
    takenAt: new Date(clock.now()).toISOString(),
    process,
    heap,
    workers,
    heapSpaces,
    ...(Deno.build.os === "linux" && target.systemMemory()),
    stores,
    ...(stores.length < all.length &&
      { omittedStores: all.length - stores.length }),
  };
  return json(report);
}

function fullest(
  stores: readonly BoundedStore[],
  most: number,
): readonly BoundedStore[] {
  const shareOf = ({ used, capacity }: BoundedStore) =>
    used / Math.max(capacity, 1);
  return stores.toSorted((a, b) => shareOf(b) - shareOf(a)).slice(0, most);
}
