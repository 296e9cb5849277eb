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

/** Adds a metric. @param read Returns its value, or values by the value of one more label. */
type AddMetric<Reading> = (
  type: "counter" | "gauge",
  name: string,
  help: string,
  read: (
    reading: Reading,
  ) => number | undefined | Readonly<Record<string, number>>,
  label?: string,
) => void;

/** Returns a function that adds metrics of readings, each with the values of its labels. */
function metricsOf<Reading>(
  registry: MetricRegistry,
  labelNames: readonly string[],
  readings: () => Iterable<readonly [Reading, ...string[]]>,
): AddMetric<Reading> {
  return (type, name, help, read, label) => {
    const names = label === undefined ? labelNames : [...labelNames, label];
    registry.computed(
      type,
      name,
      help,
      names,
      () =>
        Iterator.from(readings()).flatMap(([reading, ...labels]) => {
          const value = read(reading) ?? {};
          return typeof value === "number"
            ? [[value, ...labels] as const]
            : Object.entries(value).map(([more, each]) =>
              [each, ...labels, more] as const
            );
        }),
    );
  };
}

function addLocalLimitMetrics(
  registry: MetricRegistry,
  { localLimits }: LimitReadings,
): void {
  const add = metricsOf(
    registry,
    ["scope", "limit"],
    () =>
      Iterator.from(localLimits()).map((each) =>
        [each, each.scope, each.name] as const
      ),
  );
  add(
    "counter",
    "gateway_rate_limit_requests_total",
    "Requests that a local limit admitted or refused",
    ({ admitted, refused }) => ({ admitted, refused }),
    "result",
  );
  add(
    "counter",
    "gateway_rate_limit_tokens_total",
    "LLM tokens charged to a local limit",
    ({ unit, charged }) => unit === "usd" ? 0 : charged,
  );
  add(
    "counter",
    "gateway_rate_limit_cost_usd_total",
    "US dollars charged to a local limit",
    ({ unit, charged }) => unit === "usd" ? charged : 0,
  );
  add(
    "gauge",
    "gateway_rate_limit_held",
    "Requests, LLM tokens or US dollars that a local limit holds for requests in progress",
    ({ held, unit }) => held === undefined ? {} : { [shownUnit(unit)]: held },
    "unit",
  );
  add(
    "gauge",
    "gateway_rate_limit_keys",
    "Keys of a local limit with a budget",
    ({ keys }) => keys,
  );
  add(
    "counter",
    "gateway_rate_limit_evicted_keys_total",
    "Keys of a local limit evicted while their budget was in use",
    ({ evictedKeys }) => evictedKeys,
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
  const add = metricsOf(
    registry,
    ["store", "domain", "limit"],
    () =>
      globalLimiters().flatMap(({ store, domain, limits }) =>
        limits.map((limit) => [limit, store, domain, limit.name] as const)
      ),
  );
  add(
    "counter",
    "gateway_rate_limit_shared_limit_requests_total",
    "Requests that a global limit admitted or refused",
    ({ admitted, refused }) => ({ admitted, refused }),
    "result",
  );
  add(
    "counter",
    "gateway_rate_limit_shared_tokens_total",
    "LLM tokens charged to a global limit",
    ({ unit, charged }) =>
      unit === "usd" || unit === "requests" ? undefined : charged,
  );
  add(
    "counter",
    "gateway_rate_limit_shared_cost_usd_total",
    "US dollars charged to a global limit",
    ({ unit, charged }) => unit === "usd" ? charged : undefined,
  );
  add(
    "gauge",
    "gateway_rate_limit_shared_held",
    "LLM tokens or US dollars that a global limit holds for requests in progress",
    ({ held, unit }) => held === undefined ? {} : { [unit]: held },
    "unit",
  );
}

function addGlobalLimitMetrics(
  registry: MetricRegistry,
  { globalLimiters }: LimitReadings,
): void {
  const add = metricsOf(
    registry,
    ["store", "domain"],
    () =>
      globalLimiters().map((each) => [each, each.store, each.domain] as const),
  );
  add(
    "counter",
    "gateway_rate_limit_shared_requests_total",
    "Requests that global limits admitted or refused, or that got no verdict",
    ({ admitted, refused, failed }) => ({ admitted, refused, failed }),
    "result",
  );
  add(
    "counter",
    "gateway_rate_limit_shared_exchanges_total",
    "Exchanges with the store or service of global limits",
    ({ exchanges }) => exchanges,
    "result",
  );
  add(
    "counter",
    "gateway_rate_limit_shared_waits_total",
    "Requests that waited for the store or service of global limits",
    ({ waits }) => waits,
  );
  add(
    "counter",
    "gateway_rate_limit_shared_lost_tokens_total",
    "LLM tokens that were never charged to global limits",
    ({ lostTokens }) => lostTokens,
  );
  add(
    "gauge",
    "gateway_rate_limit_shared_failing",
    "1 while the store or service of global limits is unavailable",
    ({ state }) => state === "failing" ? 1 : 0,
  );
}
