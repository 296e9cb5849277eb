import process from "node:process";
import {
  getHeapSpaceStatistics,
  getHeapStatistics,
  type HeapInfo,
} from "node:v8";
import type {
  BoundedStore,
  ThreadHeap,
} from "../../src/dataplane/calls/descriptions.ts";
import type { SystemMemory } from "./linux_memory.ts";

/** Memory of the process in bytes, and the occupancy of bounded stores. */
export interface MemoryReport
  extends ReturnType<typeof describeProcessMemory>, Partial<SystemMemory> {
  /** RFC 3339. */
  readonly takenAt: string;
  readonly workers: readonly ThreadHeap[];
  readonly stores: readonly BoundedStore[];
  /** Number of stores that are left out. */
  readonly omittedStores?: number;
}

/** Describes the memory of the process, and the heap of this thread. */
export function describeProcessMemory() {
  return {
    process: describeProcess(),
    heap: describeHeap(getHeapStatistics()),
    heapSpaces: getHeapSpaceStatistics().map((space) => ({
      name: space.space_name,
      sizeBytes: space.space_size,
      usedBytes: space.space_used_size,
      availableBytes: space.space_available_size,
      physicalBytes: space.physical_space_size,
    })),
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
