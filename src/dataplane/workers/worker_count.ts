import { totalmem } from "node:os";
import process from "node:process";

const MEGABYTE = 1024 * 1024;
/** Part of the memory that the heaps of all workers may fill; buffers and the runtime need the rest. */
const HEAP_SHARE = 0.75;
const MIN_HEAP_MEGABYTES = 64;
/** V8 compresses pointers to 4 GiB. */
const MAX_HEAP_MEGABYTES = 4096;

/** Returns the limit of the heap of each of `count` workers, so that one that runs full ends before the system ends the process. */
export function workerHeapMegabytes(count: number): number {
  const share = Math.floor(memoryMegabytes() * HEAP_SHARE / count);
  return Math.max(MIN_HEAP_MEGABYTES, Math.min(share, MAX_HEAP_MEGABYTES));
}

/** Memory of the machine, or of the control group if that has less. */
function memoryMegabytes(): number {
  return Math.min(totalmem(), process.constrainedMemory()) / MEGABYTE;
}
