/** Random schedules of the vault, as many as `VAULT_SCHEDULES` says, beginning with the seed `VAULT_SEED`. */
import { noCounts, runSchedule } from "../harness/vault/vault_model.ts";
import type { Finding } from "./drill.ts";

const SCHEDULES = Number(Deno.env.get("VAULT_SCHEDULES") ?? 20_000);
const SEED = Number(Deno.env.get("VAULT_SEED") ?? 1_000_000);

/** Runs the schedules in this process; a failure names its seed, with which it repeats. */
export async function vaultSchedules(): Promise<Finding[]> {
  const counts = noCounts();
  const startedAt = performance.now();
  for (let seed = SEED; seed < SEED + SCHEDULES; seed++) {
    await runSchedule(seed, counts);
    if (counts.foreign + counts.lost > 0) {
      throw new Error(`Seed ${seed}: ${JSON.stringify(counts)}`);
    }
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return [{
    drill: `${SCHEDULES} schedules of the vault from seed ${SEED}`,
    figures: { ...counts, seconds },
  }];
}
