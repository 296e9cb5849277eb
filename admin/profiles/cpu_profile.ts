import { type Profiler, Session } from "node:inspector/promises";
import process from "node:process";
import type { Clock } from "../../src/base/clock.ts";
import { frameOf } from "./frame_of.ts";
import type { Frame, StackProfile, StackSample } from "./pprof.ts";
import { SourceLines } from "./source_lines.ts";

/** Options of `takeCpuProfile`. */
export interface CpuProfileOptions {
  readonly seconds: number;
  /** Samples per second. */
  readonly frequency: number;
  readonly clock: Clock;
  /** Aborts sampling. */
  readonly signal: AbortSignal;
}

/** Samples the CPU for some time; returns `undefined` when aborted. */
export async function takeCpuProfile(
  { seconds, frequency, clock, signal }: CpuProfileOptions,
): Promise<StackProfile | undefined> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", {
      interval: Math.round(1e6 / frequency),
    });
    const others = timeOfOtherThreads();
    const takenAt = clock.now();
    await session.post("Profiler.start");
    const isOver = await pause(seconds * 1000, clock, signal);
    const { profile } = await session.post("Profiler.stop");
    if (!isOver) return undefined;
    const othersUs = timeOfOtherThreads() - others;
    return describe(profile, { takenAt, othersUs, periodUs: 1e6 / frequency });
  } finally {
    session.disconnect();
  }
}

/** Waits; returns false when aborted. */
function pause(
  durationMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve) => {
    const onAbort = () => {
      cancelTimer();
      resolve(false);
    };
    const cancelTimer = clock.setTimer(() => {
      signal.removeEventListener("abort", onAbort);
      resolve(true);
    }, durationMs);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Returns the CPU time of other threads since the start, in microseconds. */
function timeOfOtherThreads(): number {
  const all = process.cpuUsage();
  const own = process.threadCpuUsage();
  return all.user + all.system - own.user - own.system;
}

function describe(
  profile: Profiler.Profile,
  { takenAt, othersUs, periodUs }: {
    readonly takenAt: number;
    readonly othersUs: number;
    readonly periodUs: number;
  },
): StackProfile {
  const durationUs = profile.endTime - profile.startTime;
  const taken = profile.samples?.length ?? 0;
  // Under load samples are late: each represents its share of the duration, not the requested interval.
  const sampleUs = taken === 0 ? periodUs : durationUs / taken;
  const samples: StackSample[] = [];
  for (const sample of samplesOf(profile, sampleUs)) {
    samples.push({ ...sample, thread: "main" });
  }
  const others = Math.round(othersUs / sampleUs);
  if (others > 0) {
    const sample = sampleAt([otherThreads], others, sampleUs);
    samples.push({ ...sample, thread: "other" });
  }
  return {
    valueTypes: [["samples", "count"], ["cpu", "nanoseconds"]],
    samples,
    period: Math.round(periodUs * 1000),
    takenAt,
    durationMs: durationUs / 1000,
  };
}

/**
 * Threads of engine and runtime: garbage collection, compilation, file I/O, sampling. None runs code of the gateway; their
 * individual CPU times are in Linux files that the gateway may not read.
 */
const otherThreads: Frame = {
  name: "(other threads)",
  file: "",
  startLine: 0,
  line: 0,
};

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

function sampleAt(
  frames: readonly Frame[],
  count: number,
  sampleUs: number,
): StackSample {
  return { frames, values: [count, Math.round(count * sampleUs * 1000)] };
}
