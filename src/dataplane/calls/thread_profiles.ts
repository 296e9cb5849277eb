import { getHeapStatistics } from "node:v8";
import type { Clock } from "../../base/clock.ts";
import {
  type CpuProfile,
  CpuSampling,
} from "../../telemetry/profiles/cpu_profile.ts";
import { HeapSampling } from "../../telemetry/profiles/heap_profile.ts";
import type { StackProfile } from "../../telemetry/profiles/stack_profile.ts";
import type { HeapSize } from "./descriptions.ts";

/** Profiles of a worker: V8 samples only the thread that asks it to. */
export class ThreadProfiles {
  readonly #thread: string;
  readonly #clock: Clock;
  readonly #heap: HeapSampling;
  #cpu: CpuSampling | undefined;

  constructor(worker: number, clock: Clock) {
    this.#thread = `worker ${worker}`;
    this.#clock = clock;
    this.#heap = new HeapSampling(this.#thread);
  }

  /** @param frequency Samples per second. */
  async startCpu(frequency: number): Promise<void> {
    this.#cpu = await CpuSampling.start({
      frequency,
      thread: this.#thread,
      clock: this.#clock,
    });
  }

  async stopCpu(): Promise<CpuProfile | undefined> {
    const cpu = this.#cpu;
    this.#cpu = undefined;
    return await cpu?.stop();
  }

  heapSize(): HeapSize {
    const heap = getHeapStatistics();
    return {
      totalBytes: heap.total_heap_size,
      usedBytes: heap.used_heap_size,
      limitBytes: heap.heap_size_limit,
      externalBytes: heap.external_memory,
    };
  }

  startAllocations(): Promise<void> {
    return this.#heap.startAllocations();
  }

  takeHeap(): Promise<StackProfile> {
    return this.#heap.take(this.#clock);
  }
}
