import { type HeapProfiler, Session } from "node:inspector/promises";
import type { Clock } from "../../base/clock.ts";
import { frameOf } from "./frame_of.ts";
import type { Frame, StackProfile, StackSample } from "./stack_profile.ts";
import { SourceLines } from "./source_lines.ts";

/** Bytes between samples, the same as in Go; the cost is not measurable. */
const SAMPLING_INTERVAL = 512 * 1024;

/**
 * Samples allocations, one per 512 KiB, from the start of the thread, so that profiles include long-lived memory.
 *
 * V8 has one such sampler for each thread. While it also counts memory that was freed, which needs memory without bound, it
 * forgets what was allocated before.
 */
export class HeapSampling implements AsyncDisposable {
  readonly #session = new Session();
  readonly #thread: string;
  #started: Promise<unknown>;
  #countsFreed = false;

  /** @param thread Name of this thread in the profile, such as `main`. */
  constructor(thread: string) {
    this.#thread = thread;
    this.#session.connect();
    this.#started = this.#start(false);
  }

  /** Begins to count allocations, also of memory that is freed, until the next `take`. */
  async startAllocations(): Promise<void> {
    await this.#restart(true);
  }

  /**
   * Takes a profile of live memory by allocation site, after a garbage collection; after `startAllocations`, of all
   * allocations since.
   */
  async take(clock: Clock): Promise<StackProfile> {
    await this.#started;
    const { profile } = await this.#session.post(
      "HeapProfiler.getSamplingProfile",
    );
    const type = this.#countsFreed ? "alloc_space" : "inuse_space";
    if (this.#countsFreed) await this.#restart(false);
    return {
      valueTypes: [[type, "bytes"]],
      samples: Array.from(
        samplesOf(profile),
        (sample) => ({ ...sample, thread: this.#thread }),
      ),
      period: SAMPLING_INTERVAL,
      takenAt: clock.now(),
      durationMs: 0,
    };
  }

  async #restart(countsFreed: boolean): Promise<void> {
    await this.#started;
    await this.#session.post("HeapProfiler.stopSampling");
    this.#countsFreed = countsFreed;
    this.#started = this.#start(countsFreed);
    await this.#started;
  }

  #start(countsFreed: boolean): Promise<unknown> {
    return this.#session.post("HeapProfiler.startSampling", {
      samplingInterval: SAMPLING_INTERVAL,
      includeObjectsCollectedByMajorGC: countsFreed,
      includeObjectsCollectedByMinorGC: countsFreed,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Disconnecting during the start would cause an unhandled rejection.
    try {
      await this.#started;
    } finally {
      this.#session.disconnect();
    }
  }
}

function* samplesOf(
  { head }: HeapProfiler.SamplingHeapProfile,
): Iterable<StackSample> {
  const lines = new SourceLines();
  const open: {
    readonly node: HeapProfiler.SamplingHeapProfileNode;
    readonly outer: readonly Frame[];
  }[] = head.children.map((node) => ({ node, outer: [] }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, outer } = next;
    const frames = [frameOf(lines, node.callFrame), ...outer];
    if (node.selfSize > 0) {
      yield { frames, values: [Math.round(node.selfSize)] };
    }
    for (const child of node.children) {
      open.push({ node: child, outer: frames });
    }
  }
}
