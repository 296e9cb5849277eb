import process from "node:process";
import { type Clock, pause } from "../../src/base/clock.ts";
import type { DataPlane } from "../../src/dataplane/data_plane.ts";
import {
  type CpuProfile,
  CpuSampling,
  sampleAt,
} from "../../src/telemetry/profiles/cpu_profile.ts";
import type {
  Frame,
  StackProfile,
} from "../../src/telemetry/profiles/stack_profile.ts";

/** Options of `takeCpuProfile`. */
export interface CpuProfileOptions {
  readonly seconds: number;
  /** Samples per second. */
  readonly frequency: number;
  readonly clock: Clock;
  /** Aborts sampling. */
  readonly signal: AbortSignal;
  /** Profiles the worker threads. */
  readonly workers: Pick<DataPlane, "call">;
}

/** Samples the CPU use of this thread and of the workers for some time; returns `undefined` when aborted. */
export async function takeCpuProfile(
  { seconds, frequency, clock, signal, workers }: CpuProfileOptions,
): Promise<StackProfile | undefined> {
  const usedBefore = process.cpuUsage();
  await workers.call("startCpuProfiles", frequency);
  const sampling = await CpuSampling.start({
    frequency,
    thread: "main",
    clock,
  });
  await pause(clock, seconds * 1000, signal);
  const own = await sampling.stop();
  const all = [own, ...await workers.call("stopCpuProfiles")];
  if (signal.aborted) return undefined;
  const used = process.cpuUsage(usedBefore);
  return { ...own, samples: samplesOf(all, used.user + used.system) };
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

/** @param processUs Processor time of the process. */
function samplesOf(
  profiles: readonly CpuProfile[],
  processUs: number,
): StackProfile["samples"] {
  const samples = profiles.flatMap((profile) => profile.samples);
  const sampleUs = profiles[0]?.sampleUs ?? 1;
  const known = profiles.reduce((sum, { threadUs }) => sum + threadUs, 0);
  const others = Math.round((processUs - known) / sampleUs);
  return others <= 0 ? samples : [
    ...samples,
    { ...sampleAt([otherThreads], others, sampleUs), thread: "other" },
  ];
}
