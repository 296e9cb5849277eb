/** Random schedules of the vault, as many as `VAULT_SCHEDULES` says, beginning with the seed `VAULT_SEED`. */
import { addCounts, noCounts } from "../harness/vault/vault_model.ts";
import type { Finding } from "./drill.ts";
import type { ScheduleBatch, ScheduleReport } from "./vault_worker.ts";

const SCHEDULES = Number(Deno.env.get("VAULT_SCHEDULES") ?? 20_000);
const SEED = Number(Deno.env.get("VAULT_SEED") ?? 1_000_000);
const BATCH = 1000;

/** Runs the schedules, at all processors; a failure names its seed, with which it repeats. */
export async function vaultSchedules(): Promise<Finding[]> {
  const counts = noCounts();
  const startedAt = performance.now();
  const batches = Array.from(
    { length: Math.ceil(SCHEDULES / BATCH) },
    (_, index) => ({
      seed: SEED + index * BATCH,
      schedules: Math.min(BATCH, SCHEDULES - index * BATCH),
    }),
  ).values();
  await Promise.all(
    Array.from({ length: navigator.hardwareConcurrency }, async () => {
      using worker = startWorker();
      for (const batch of batches) {
        const { failedSeed, counts: own } = await worker.run(batch);
        if (failedSeed !== undefined) {
          throw new Error(`Seed ${failedSeed}: ${JSON.stringify(own)}`);
        }
        addCounts(counts, own);
      }
    }),
  );
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return [{
    drill: `${SCHEDULES} schedules of the vault from seed ${SEED}`,
    figures: { ...counts, seconds },
  }];
}

function startWorker() {
  const url = new URL("./vault_worker.ts", import.meta.url);
  const worker = new Worker(url, { type: "module" });
  return {
    run(batch: ScheduleBatch): Promise<ScheduleReport> {
      const { promise, resolve, reject } = Promise.withResolvers<
        ScheduleReport
      >();
      worker.onmessage = ({ data }: MessageEvent<ScheduleReport>) =>
        resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage(batch);
      return promise;
    },
    [Symbol.dispose]: () => worker.terminate(),
  };
}
