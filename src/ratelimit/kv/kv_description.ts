import { describeError } from "../../base/errors.ts";
import type { BudgetDefinition, BudgetReading } from "../budget.ts";
import type { KvBucket } from "./kv_bucket.ts";
import type { KvStoreCounters } from "./kv_store.ts";

/** What a limiter over Deno KV knows, for `/config_dump` and metrics. */
export interface KvLimiterState {
  readonly domain: string;
  /** Why the store failed last; `undefined` while it works. */
  readonly error: unknown;
  /** Budgets in memory. */
  readonly kept: number;
  readonly counters: KvLimiterCounters;
  /** The least recently used first. */
  readonly budgets: readonly KvBudgetState[];
}

/** What happened since the limiter was made. */
export interface KvLimiterCounters extends KvStoreCounters {
  /** Requests that had to wait for the store. */
  readonly waits: number;
  /** Budgets that left memory for others. */
  readonly evicted: number;
  /** Tokens that were never settled, since the store was down for too long. */
  readonly lostDebits: number;
}

/** One global budget as this process sees it. */
export interface KvBudgetState extends BudgetReading {
  readonly definition: BudgetDefinition;
  readonly entries: readonly (readonly [key: string, value: string])[];
  /** Whether the store ever told about it; until then the reading is that of an unused budget. */
  readonly isKnown: boolean;
  /** Requests that this process may admit without asking. */
  readonly leased: number;
  /** Tokens used in this process that the others do not know yet. */
  readonly pendingDebits: number;
  /** Why the store could not be asked last; `undefined` when it could. */
  readonly lastError: string | undefined;
}

/** Those buckets, in the same order. */
export function describeBuckets(
  buckets: readonly KvBucket[],
): readonly KvBudgetState[] {
  return buckets.map((bucket) => ({
    ...bucket.read(),
    definition: bucket.budget,
    entries: bucket.entries,
    isKnown: bucket.isKnown,
    leased: bucket.leased,
    pendingDebits: bucket.pendingDebits,
    lastError: bucket.error === undefined
      ? undefined
      : describeError(bucket.error),
  }));
}
