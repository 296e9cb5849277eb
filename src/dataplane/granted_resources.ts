import { totalmem } from "node:os";
import process from "node:process";
import { MAX_WORKERS, type Settings } from "../api/settings.ts";

const MEGABYTE = 1024 * 1024;
/** Memory of a worker under load, with a reserve for large requests. */
const WORKER_MEGABYTES = 256;
/** Part of the memory that the heaps of all workers may fill; buffers and the runtime need the rest. */
const HEAP_SHARE = 0.75;
/** Part of the memory that request bodies may fill. */
const BODY_SHARE = 0.25;
const MAX_BODY_MEGABYTES = 1024;
const MIN_HEAP_MEGABYTES = 64;
/** V8 compresses pointers to 4 GiB. */
const MAX_HEAP_MEGABYTES = 4096;

/** Resources that a control group grants its processes. */
export interface Resources {
  /** Also bounded by the affinity of the process. */
  readonly processors: number;
  readonly megabytes: number;
}

/** Returns the number of workers that these resources suffice for, at least 1. */
export function defaultWorkers(
  { processors, megabytes }: Resources = grantedResources(),
): number {
  const affordable = Math.floor(megabytes / WORKER_MEGABYTES);
  return Math.max(1, Math.min(processors, affordable, MAX_WORKERS));
}

/** Returns the limit of the heap of each of `count` workers, so that one that runs full ends before the system ends the process. */
export function workerHeapMegabytes(
  count: number,
  { megabytes }: Resources = grantedResources(),
): number {
  const share = Math.floor(megabytes * HEAP_SHARE / count);
  return Math.max(MIN_HEAP_MEGABYTES, Math.min(share, MAX_HEAP_MEGABYTES));
}

/** Returns the limit of memory for request bodies. */
export function bodyMemoryBytes(
  { maxBodyMemoryBytes }: Settings["limits"],
): number {
  const { megabytes } = grantedResources();
  return maxBodyMemoryBytes ??
    Math.min(megabytes * MEGABYTE * BODY_SHARE, MAX_BODY_MEGABYTES * MEGABYTE);
}

/** Reads the resources of the machine, or of the control group if that has less. */
function grantedResources(): Resources {
  return {
    // Rust's `available_parallelism`, which reads the affinity and the quotas of both versions of control groups.
    processors: navigator.hardwareConcurrency,
    megabytes: Math.min(totalmem(), process.constrainedMemory()) / MEGABYTE,
  };
}
