import { type Profiler, Session } from "node:inspector/promises";
import process from "node:process";
import type { Clock } from "../../base/clock.ts";
import { frameOf } from "./frame_of.ts";
import type { Frame, StackProfile, StackSample } from "./stack_profile.ts";
import { SourceLines } from "./source_lines.ts";

/** A CPU profile of one thread. */
export interface CpuProfile extends StackProfile {
  /** Processor time of the thread, in microseconds. */
  readonly threadUs: number;
  /** Length of a sample, in microseconds. */
  readonly sampleUs: number;
}

/** Options of `CpuSampling`. */
export interface CpuSamplingOptions {
  /** Samples per second. */
  readonly frequency: number;
  /** Name of this thread in the profile, such as `main`. */
  readonly thread: string;
  readonly clock: Clock;
}

/** Samples the CPU use of this thread. */
export class CpuSampling {
  readonly #options: CpuSamplingOptions;
  readonly #session = new Session();
  readonly #takenAt: number;
  readonly #usedBefore = process.threadCpuUsage();

  private constructor(options: CpuSamplingOptions) {
    this.#options = options;
    this.#takenAt = options.clock.now();
  }

  static async start(options: CpuSamplingOptions): Promise<CpuSampling> {
    const sampling = new CpuSampling(options);
    await sampling.#start();
    return sampling;
  }

  /** Ends the profile. */
  async stop(): Promise<CpuProfile> {
    try {
      const { profile } = await this.#session.post("Profiler.stop");
      return this.#describe(profile);
    } finally {
      this.#session.disconnect();
    }
  }

  async #start(): Promise<void> {
    const session = this.#session;
    session.connect();
    const interval = Math.round(1e6 / this.#options.frequency);
    try {
      await session.post("Profiler.enable");
      await session.post("Profiler.setSamplingInterval", { interval });
      await session.post("Profiler.start");
    } catch (error) {
      session.disconnect();
      throw error;
    }
  }

  #describe(profile: Profiler.Profile): CpuProfile {
    const { frequency, thread } = this.#options;
    const used = process.threadCpuUsage(this.#usedBefore);
    const durationUs = profile.endTime - profile.startTime;
    const taken = profile.samples?.length ?? 0;
    // Under load samples are late: each represents its share of the duration, not the requested interval.
    const sampleUs = taken === 0 ? 1e6 / frequency : durationUs / taken;
    const samples: StackSample[] = [];
    for (const sample of samplesOf(profile, sampleUs)) {
      samples.push({ ...sample, thread });
    }
    return {
      valueTypes: [["samples", "count"], ["cpu", "nanoseconds"]],
      samples,
      period: Math.round(1e9 / frequency),
      takenAt: this.#takenAt,
      durationMs: durationUs / 1000,
      threadUs: used.user + used.system,
      sampleUs,
    };
  }
}

function* samplesOf(
  { nodes }: Profiler.Profile,
  sampleUs: number,
): Iterable<StackSample> {
  const lines = new SourceLines();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callers = new Map<number, Profiler.ProfileNode>();
  for (const node of nodes) {
    for (const child of node.children ?? []) callers.set(child, node);
  }
  for (const node of byId.values()) {
    const hits = node.hitCount ?? 0;
    if (hits === 0 || node.callFrame.functionName === "(idle)") continue;
    const outer: Frame[] = [];
    for (let at = callers.get(node.id); at; at = callers.get(at.id)) {
      if (at.callFrame.functionName !== "(root)") {
        outer.push(frameOf(lines, at.callFrame));
      }
    }
    const frame = frameOf(lines, node.callFrame);
    let known = 0;
    for (const { line, ticks } of node.positionTicks ?? []) {
      known += ticks;
      const found = lines.find(node.callFrame.url, line - 1);
      // The build has inlined a line of another file.
      const inner = found.file === frame.file
        ? { ...frame, line: found.line }
        : frame;
      yield sampleAt([inner, ...outer], ticks, sampleUs);
    }
    if (hits > known) yield sampleAt([frame, ...outer], hits - known, sampleUs);
  }
}

/** Creates samples of one stack. @param sampleUs Length of a sample. */
export function sampleAt(
  frames: readonly Frame[],
  count: number,
  sampleUs: number,
): StackSample {
  return { frames, values: [count, Math.round(count * sampleUs * 1000)] };
}
