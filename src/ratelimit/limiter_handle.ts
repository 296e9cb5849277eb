import {
  CountedLimiter,
  type DecisionCounts,
} from "./limiter/counted_limiter.ts";
import type { DescriptorCounts } from "./limiter/descriptor_counts.ts";
import { FailureLog } from "./limiter/failure_log.ts";
import { KvLimiter, type KvLimiterOptions } from "./kv/kv_limiter.ts";
import { formatAddress } from "./service/service_address.ts";
import {
  ServiceLimiter,
  type ServiceLimiterOptions,
} from "./service/service_limiter.ts";
import type { GlobalLimit } from "./limiter/global_limiter.ts";
import {
  type GlobalLimitReading,
  isBudgetOf,
  kvStatus,
  type LimiterStatus,
  readKvLimit,
  readServiceLimit,
  serviceStatus,
} from "./global_limit.ts";

/** Counts of a limiter, as metrics show them. */
export interface LimiterCounts
  extends LimiterStatus, Omit<DecisionCounts, "lastError"> {
  /** Requests that waited for a decision. */
  readonly waits: number;
  /** Exchanges with the store or the service, by result. */
  readonly exchanges: Readonly<Record<string, number>>;
  /** Tokens that were used and not counted. */
  readonly lostTokens: number;
  /** By limit. */
  readonly limits: readonly DescriptorCounts[];
}

/** A limiter of either kind with its lifecycle. */
export interface LimiterHandle {
  readonly limiter: CountedLimiter;
  /** Rejects when the store or service cannot be reached now; it is retried on demand. */
  open(): Promise<void>;
  /** Returns leases and settles pending charges. Takes at most two seconds. */
  close(): Promise<void>;
  describe(limits: readonly GlobalLimit[]): readonly GlobalLimitReading[];
  /** Makes budgets of these limits unused, as far as this process knows them; returns how many. Services reset theirs. */
  reset(
    limits: readonly GlobalLimit[],
    key: string | undefined,
  ): Promise<number>;
  /** @param limits Limits to count. */
  count(limits: readonly GlobalLimit[]): LimiterCounts;
}

/** Creates a limiter over Deno KV. */
export function createKvLimiter(
  options: KvLimiterOptions & Pick<ServiceLimiterOptions, "clock" | "log">,
): LimiterHandle {
  const kv = new KvLimiter(options);
  const { domain } = options;
  const log = new FailureLog(options, { domain, store: "KV" });
  const { clock } = options;
  const probe = () => kv.probe();
  const limiter = new CountedLimiter(kv, { log, clock, probe });
  return {
    limiter,
    open: () => kv.open(),
    close: () => {
      limiter.close();
      return kv.close();
    },
    describe(limits) {
      const state = kv.describe(Infinity);
      const status = kvStatus(state, limiter.counts.lastError);
      return limits.map((limit) => ({
        ...status,
        ...readKvLimit(limit, state),
      }));
    },
    reset: (limits, key) =>
      kv.reset((budget) =>
        limits.some((limit) => isBudgetOf(limit, budget)) &&
        (key === undefined || budget.entries.some(([, value]) => value === key))
      ),
    count(limits) {
      const state = kv.describe(1);
      const { lastError, ...decisions } = limiter.counts;
      const { writes, conflicts, locks, failures, waits, lostDebits } =
        state.counters;
      return {
        ...kvStatus(state, lastError),
        ...decisions,
        waits,
        exchanges: {
          written: writes,
          conflict: conflicts,
          locked: locks,
          failed: failures,
        },
        lostTokens: lostDebits,
        limits: limiter.limits.read(limits),
      };
    },
  };
}

/** Creates a limiter that calls a service for every request. */
export function createServiceLimiter(
  options: ServiceLimiterOptions,
): LimiterHandle {
  const service = new ServiceLimiter(options);
  const { domain, address } = options;
  const store = formatAddress(address);
  const log = new FailureLog(options, { domain, store });
  const { clock } = options;
  const probe = () => service.open();
  const limiter = new CountedLimiter(service, { log, clock, probe });
  return {
    limiter,
    open: () => service.open(),
    close: () => {
      limiter.close();
      return service.close();
    },
    describe(limits) {
      const { lastError } = limiter.counts;
      const status = serviceStatus(service.describe(), lastError);
      return limits.map((limit) => ({ ...status, ...readServiceLimit(limit) }));
    },
    reset: () => Promise.resolve(0),
    count(limits) {
      const state = service.describe();
      const { lastError, ...decisions } = limiter.counts;
      const { calls, failures, unknown, droppedTokens } = state;
      return {
        ...serviceStatus(state, lastError),
        ...decisions,
        waits: calls,
        exchanges: {
          answered: calls - failures,
          failed: failures - unknown,
          unknown,
        },
        lostTokens: droppedTokens,
        limits: limiter.limits.read(limits),
      };
    },
  };
}
