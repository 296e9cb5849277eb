import type { MetricRegistry } from "./metrics.ts";

/** State of limits that metrics read at each collection. */
export interface LimitReadings {
  localLimits(): Iterable<LocalLimitReading>;
  /** Stores and services of global limits, as this process used them. */
  globalLimiters(): readonly GlobalLimiterReading[];
}

interface LocalLimitReading {
  readonly scope: string;
  /** Definition in words. */
  readonly name: string;
  readonly admitted: number;
  readonly refused: number;
  /** Tokens or, if `unit` is `usd`, US dollars. */
  readonly charged: number;
  readonly unit: string;
  /** Held for requests in progress; `undefined` for limits that hold nothing. */
  readonly held?: number | undefined;
  readonly keys: number;
  readonly evictedKeys: number;
}

interface GlobalLimiterReading {
  readonly domain: string;
  /** `KV`, or the address of a service. */
  readonly store: string;
  readonly state: string;
  readonly admitted: number;
  readonly refused: number;
  readonly failed: number;
  readonly waits: number;
  /** By result. */
  readonly exchanges: Readonly<Record<string, number>>;
  readonly lostTokens: number;
  readonly limits: readonly {
    /** Definition in words. */
    readonly name: string;
    readonly unit: string;
    readonly admitted: number;
    readonly refused: number;
    /** Tokens or, if `unit` is `usd`, US dollars. */
    readonly charged: number;
    readonly held: number | undefined;
  }[];
}

/** Adds the metrics of limits. */
export function addLimitMetrics(
  registry: MetricRegistry,
  limits: LimitReadings,
): void {
  addLocalLimitMetrics(registry, limits);
  addGlobalLimitMetrics(registry, limits);
  addDescriptorMetrics(registry, limits);
}

function addLocalLimitMetrics(
  registry: MetricRegistry,
  { localLimits }: LimitReadings,
): void {
  const labelNames = ["scope", "limit"];
  const perLimit = (valueOf: (limit: LocalLimitReading) => number) => () =>
    Iterator.from(localLimits()).map((limit) =>
      [valueOf(limit), limit.scope, limit.name] as const
    );
  registry.computed(
    "counter",
    "gateway_rate_limit_requests_total",
    "Requests that a local limit admitted or refused",
    [...labelNames, "result"],
    () =>
      Iterator.from(localLimits()).flatMap((limit) =>
        (["admitted", "refused"] as const).map((result) =>
          [limit[result], limit.scope, limit.name, result] as const
        )
      ),
  );
  registry.computed(
    "counter",
    "gateway_rate_limit_tokens_total",
    "LLM tokens charged to a local limit",
    labelNames,
    perLimit(({ unit, charged }) => unit === "usd" ? 0 : charged),
  );
  registry.computed(
    "counter",
    "gateway_rate_limit_cost_usd_total",
    "US dollars charged to a local limit",
    labelNames,
    perLimit(({ unit, charged }) => unit === "usd" ? charged : 0),
  );
  registry.computed(
    "gauge",
    "gateway_rate_limit_held",
    "Requests, LLM tokens or US dollars that a local limit holds for requests in progress",
    [...labelNames, "unit"],
    () =>
      Iterator.from(localLimits()).flatMap(({ held, scope, name, unit }) =>
        held === undefined
          ? []
          : [[held, scope, name, shownUnit(unit)] as const]
      ),
  );
  registry.computed(
    "gauge",
    "gateway_rate_limit_keys",
    "Keys of a local limit with a budget",
    labelNames,
    perLimit(({ keys }) => keys),
  );
  registry.computed(
    "counter",
    "gateway_rate_limit_evicted_keys_total",
    "Keys of a local limit evicted while their budget was in use",
    labelNames,
    perLimit(({ evictedKeys }) => evictedKeys),
  );
}

function shownUnit(unit: string): string {
  return unit === "concurrentRequests" ? "requests" : unit;
}

/** Adds the metrics of each global limit. */
function addDescriptorMetrics(
  registry: MetricRegistry,
  { globalLimiters }: LimitReadings,
): void {
  const labelNames = ["store", "domain", "limit"];
  type Limit = GlobalLimiterReading["limits"][number];
  const perLimit = (valueOf: (limit: Limit) => number | undefined) => () =>
    globalLimiters().flatMap(({ store, domain, limits }) =>
      limits.flatMap((limit) => {
        const value = valueOf(limit);
        return value === undefined
          ? []
          : [[value, store, domain, limit.name] as const];
      })
    );
  registry.computed(
    "counter",
    "gateway_rate_limit_shared_limit_requests_total",
    "Requests that a global limit admitted or refused",
    [...labelNames, "result"],
    () =>
      globalLimiters().flatMap(({ store, domain, limits }) =>
        limits.flatMap((limit) =>
          (["admitted", "refused"] as const).map((result) =>
            [limit[result], store, domain, limit.name, result] as const
          )
        )
      ),
  );
  registry.computed(
    "counter",
    "gateway_rate_limit_shared_tokens_total",
    "LLM tokens charged to a global limit",
    labelNames,
    perLimit(({ unit, charged }) =>
      unit === "usd" || unit === "requests" ? undefined : charged
    ),
  );
  registry.computed(
    "counter",
    "gateway_rate_limit_shared_cost_usd_total",
    "US dollars charged to a global limit",
    labelNames,
    perLimit(({ unit, charged }) => unit === "usd" ? charged : undefined),
  );
  registry.computed(
    "gauge",
    "gateway_rate_limit_shared_held",
    "LLM tokens or US dollars that a global limit holds for requests in progress",
    [...labelNames, "unit"],
    () =>
      globalLimiters().flatMap(({ store, domain, limits }) =>
        limits.flatMap(({ held, name, unit }) =>
          held === undefined ? [] : [[held, store, domain, name, unit] as const]
        )
      ),
  );
}

function addGlobalLimitMetrics(
  registry: MetricRegistry,
  { globalLimiters }: LimitReadings,
): void {
  const labelNames = ["store", "domain"];
  const perLimiter = (valueOf: (each: GlobalLimiterReading) => number) => () =>
    globalLimiters().map((each) =>
      [valueOf(each), each.store, each.domain] as const
    );
  registry.computed(
    "counter",
    "gateway_rate_limit_shared_requests_total",
    "Requests that global limits admitted or refused, or that got no verdict",
    [...labelNames, "result"],
    () =>
      globalLimiters().flatMap((each) =>
        (["admitted", "refused", "failed"] as const).map((result) =>
          [each[result], each.store, each.domain, result] as const
        )
      ),
  );
  registry.computed(
    "counter",
    "gateway_rate_limit_shared_exchanges_total",
    "Exchanges with the store or service of global limits",
    [...labelNames, "result"],
    () =>
      globalLimiters().flatMap(({ store, domain, exchanges }) =>
        Object.entries(exchanges).map(([result, value]) =>
          [value, store, domain, result] as const
        )
      ),
  );
  registry.computed(
    "counter",
    "gateway_rate_limit_shared_waits_total",
    "Requests that waited for the store or service of global limits",
    labelNames,
    perLimiter(({ waits }) => waits),
  );
  registry.computed(
    "counter",
    "gateway_rate_limit_shared_lost_tokens_total",
    "LLM tokens that were never charged to global limits",
    labelNames,
    perLimiter(({ lostTokens }) => lostTokens),
  );
  registry.computed(
    "gauge",
    "gateway_rate_limit_shared_failing",
    "1 while the store or service of global limits is unavailable",
    labelNames,
    perLimiter(({ state }) => state === "failing" ? 1 : 0),
  );
}
