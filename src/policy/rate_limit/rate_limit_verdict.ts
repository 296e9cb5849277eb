import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import {
  type BudgetReading,
  shownAmount,
} from "../../ratelimit/budget/budget.ts";
import type { Budget, Limit } from "../../ratelimit/local/counter_store.ts";
import type { DescriptorReading } from "../../ratelimit/limiter/global_limiter.ts";
import type {
  RateLimitEntry,
  RateLimitResult,
} from "../../telemetry/trace/trace_event.ts";
import type { GlobalLimits } from "./rate_limit_global.ts";
import { seconds } from "./rate_limit_headers.ts";

/**
 * Describes the verdict of local budgets for the trace.
 * @param limits All configured limits; those without a budget did not apply.
 */
export function localVerdict(
  limits: readonly Limit[],
  budgets: readonly Budget[],
  refusal:
    | { readonly budget: Budget; readonly key: string | undefined }
    | undefined,
  now: number,
): RateLimitResult {
  const entries = limits.map((limit): RateLimitEntry => {
    const budget = budgets.find((each) => each.limit === limit);
    if (budget === undefined) return skipped(limit);
    return budget === refusal?.budget
      ? entryOf(limit.name, budget.read(now), "deny", refusal.key)
      : entryOf(limit.name, budget.read(now), "allow");
  });
  return resultOf("local", entries);
}

/** Describes the verdict of shared budgets for the trace; the one that denied comes first. */
export function globalVerdict(
  limits: Pick<GlobalLimits, "nameOf">,
  { readings, refusedBy, key, error }: {
    readonly readings: readonly DescriptorReading[];
    readonly refusedBy?: DescriptorReading | undefined;
    /** Key of the request for the budget that denied it. */
    readonly key?: string | undefined;
    /** Error that explains why there are no readings. */
    readonly error?: string;
  },
): RateLimitResult {
  const entries = readings
    .filter(({ index }) => index !== refusedBy?.index)
    .map((reading) => entryOf(limits.nameOf(reading), reading, "allow"));
  if (refusedBy !== undefined) {
    const name = limits.nameOf(refusedBy);
    entries.unshift(entryOf(name, refusedBy, "deny", key));
  }
  const result = resultOf("global", entries);
  return error === undefined ? result : { ...result, error };
}

/** Describes the verdict of a limiter that failed with failure mode `Closed`. */
export function failedVerdict(error: string): RateLimitResult {
  return { ...resultOf("global", []), result: "deny", error };
}

function resultOf(
  kind: RateLimitResult["kind"],
  entries: readonly RateLimitEntry[],
): RateLimitResult {
  const isDenied = entries.some(({ verdict }) => verdict === "deny");
  return {
    type: "rateLimit",
    kind,
    entries,
    result: isDenied ? "deny" : "allow",
  };
}

function entryOf(
  name: string,
  { unit, limit, remaining, resetMs, held }: BudgetReading,
  verdict: RateLimitEntry["verdict"],
  key?: string,
): RateLimitEntry {
  const resetSeconds = seconds(resetMs);
  return {
    ...{ name, unit, limit, remaining, resetSeconds, verdict },
    ...(held !== undefined && { held }),
    ...(key !== undefined && { key }),
  };
}

function skipped({ name, definition }: Limit): RateLimitEntry {
  const { unit, base, burst, windowMs } = definition;
  const limit = shownAmount(unit, base + burst);
  return entryOf(
    name,
    { unit, limit, remaining: limit, resetMs: windowMs, windowMs },
    "skip",
  );
}

const WARNING_INTERVAL_MS = 60_000;

/** Warns of exhausted limits that reject nothing, at most once a minute for each. */
export class SoftLimits {
  readonly #clock: Clock;
  readonly #log: Log;
  /** Monotonic times of the latest warnings, by limit. */
  readonly #warnedAt = new Map<string, number>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** @param scope Target of the limit, or its domain. */
  warn(limit: string, scope: string): void {
    const now = this.#clock.monotonic();
    const key = `${scope} ${limit}`;
    const warnedAt = this.#warnedAt.get(key) ?? -Infinity;
    if (now - warnedAt < WARNING_INTERVAL_MS) return;
    this.#warnedAt.set(key, now);
    this.#log.warn("A limit that only warns is used up", { limit, scope });
  }
}
