import process from "node:process";
import {
  getHeapSpaceStatistics,
  getHeapStatistics,
  type HeapInfo,
} from "node:v8";
import type { Clock } from "../../src/base/clock.ts";
import { json } from "../http/admin_responses.ts";
import type { AdminTarget } from "../target/target.ts";

/** Memory of the process in bytes, and the occupancy of bounded stores. */
export type MemoryReport = Awaited<ReturnType<typeof describeMemory>>;

/** Reports the memory. */
export async function showMemory(
  target: AdminTarget,
  clock: Clock,
): Promise<Response> {
  return json(await describeMemory(target, clock));
}

async function describeMemory(target: AdminTarget, clock: Clock) {
  const { dataPlane } = target;
  const [stores, workers] = await Promise.all([
    dataPlane.stores(),
    dataPlane.heaps(),
  ]);
  return {
    takenAt: new Date(clock.now()).toISOString(),
    process: describeProcess(),
    heap: describeHeap(getHeapStatistics()),
    workers,
    heapSpaces: getHeapSpaceStatistics().map((space) => ({
      name: space.space_name,
      sizeBytes: space.space_size,
      usedBytes: space.space_used_size,
      availableBytes: space.space_available_size,
      physicalBytes: space.physical_space_size,
    })),
    ...(Deno.build.os === "linux" && target.systemMemory()),
    stores: [...stores, ...target.stores()],
  };
}

function describeProcess() {
  const { rss, heapTotal, heapUsed, external, arrayBuffers } = process
    .memoryUsage();
  const { maxRSS, minorPageFault, majorPageFault } = process.resourceUsage();
  return {
    residentBytes: rss,
    peakResidentBytes: maxRSS * 1024,
    heapTotalBytes: heapTotal,
    heapUsedBytes: heapUsed,
    // Owned by engine objects, but outside of the heap: mostly buffers.
    externalBytes: external,
    arrayBuffersBytes: arrayBuffers,
    minorPageFaults: minorPageFault,
    majorPageFaults: majorPageFault,
    limitBytes: memoryLimit(),
  };
}

/** Returns the container's limit; `null` when it is unlimited. */
function memoryLimit(): number | null {
  const limit = process.constrainedMemory();
  return limit > 0 && limit < Number.MAX_SAFE_INTEGER ? limit : null;
}

function describeHeap(heap: HeapInfo) {
  return {
    totalBytes: heap.total_heap_size,
    executableBytes: heap.total_heap_size_executable,
    physicalBytes: heap.total_physical_size,
    usedBytes: heap.used_heap_size,
    availableBytes: heap.total_available_size,
    limitBytes: heap.heap_size_limit,
    mallocedBytes: heap.malloced_memory,
    peakMallocedBytes: heap.peak_malloced_memory,
    externalBytes: heap.external_memory,
    globalHandlesBytes: heap.total_global_handles_size,
    usedGlobalHandlesBytes: heap.used_global_handles_size,
    nativeContexts: heap.number_of_native_contexts,
    detachedContexts: heap.number_of_detached_contexts,
  };
}
