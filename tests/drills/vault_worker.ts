/// <reference lib="deno.worker" />
/** Runs schedules of the vault in a thread. */
import {
  hasFaults,
  type ModelCounts,
  noCounts,
  runSchedule,
} from "../harness/vault/vault_model.ts";

/** Schedules to run, of consecutive seeds. */
export interface ScheduleBatch {
  readonly seed: number;
  readonly schedules: number;
}

/** Results of a batch. */
export interface ScheduleReport {
  readonly counts: ModelCounts;
  /** Seed of the first schedule with a fault, which was the last one. */
  readonly failedSeed?: number;
}

// Most errors of schedules are expected.
Error.stackTraceLimit = 0;

self.onmessage = async ({ data }: MessageEvent<ScheduleBatch>) => {
  self.postMessage(await run(data));
};

async function run(
  { seed: first, schedules }: ScheduleBatch,
): Promise<ScheduleReport> {
  const counts = noCounts();
  for (let seed = first; seed < first + schedules; seed++) {
    await runSchedule(seed, counts);
    if (hasFaults(counts)) return { counts, failedSeed: seed };
  }
  return { counts };
}
