import { NANO_USD } from "../../src/base/log_text.ts";
import {
  createSums,
  mergeSums,
  type RequestSums,
} from "../../src/telemetry/traffic/request_sums.ts";
import type { OwnedUsage } from "../../src/dataplane/keyring/key_owners.ts";

/** Columns that usage can be summed by. */
export const groups = ["key", "user", "team", "model", "route"] as const;
type Group = typeof groups[number];

/** Sums of use by one of them, the largest first. */
export interface UsageReport {
  /** RFC 3339. */
  readonly since: string;
  readonly by: Group;
  readonly usage: ReturnType<typeof sumBy>;
}

/** Sums the rows, the largest first. */
export function sumBy(rows: readonly OwnedUsage[], by: Group) {
  const sums = new Map<string, RequestSums>();
  for (const row of rows) {
    mergeSums(sums.getOrInsertComputed(row[by], createSums), row);
  }
  return [...sums].map(([name, { nanoUsd, ...sum }]) => ({
    name,
    ...sum,
    costUsd: nanoUsd / NANO_USD,
  })).sort((a, b) => b.costUsd - a.costUsd || tokensOf(b) - tokensOf(a));
}

function tokensOf(
  { inputTokens, outputTokens }: Pick<
    RequestSums,
    "inputTokens" | "outputTokens"
  >,
): number {
  return inputTokens + outputTokens;
}
