import { define, nothing, type ThreadResult } from "./data_plane_call.ts";
import type { TrafficThread } from "./traffic_thread.ts";

/** Calls about profiles and heaps of workers. */
export const profileCalls = {
  /** Reads the heaps of workers. */
  heaps: define({
    run: ({ profiles }: TrafficThread) => profiles?.heapSize(),
    merge: (results) =>
      results.flatMap(({ worker, part }) =>
        part === undefined || worker === undefined ? [] : [{ worker, ...part }]
      ),
  }),
  /** Starts a CPU profile in each worker. */
  startCpuProfiles: define({
    run: async ({ profiles }: TrafficThread, samplesPerSecond: number) =>
      await profiles?.startCpu(samplesPerSecond),
    merge: nothing,
  }),
  /** Ends them; a worker that has replaced another has none. */
  stopCpuProfiles: define({
    run: async ({ profiles }: TrafficThread) => await profiles?.stopCpu(),
    merge: found,
  }),
  /** Begins to count the allocations of each worker, until the next `heapProfiles`. */
  startAllocationProfiles: define({
    run: async ({ profiles }: TrafficThread) =>
      await profiles?.startAllocations(),
    merge: nothing,
  }),
  /** Takes profiles of the live memory, or of the allocations, of each worker. */
  heapProfiles: define({
    run: async ({ profiles }: TrafficThread) => await profiles?.takeHeap(),
    merge: found,
  }),
};

function found<Part>(
  results: readonly ThreadResult<Part>[],
): readonly NonNullable<Part>[] {
  return results.flatMap(({ part }) => part ?? []);
}
