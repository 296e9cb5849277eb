import type { MetricRegistry } from "./metrics.ts";

/** State of the data plane that metrics read at each collection. */
export interface StateReadings {
  /** Connections by port. */
  downstream(): readonly {
    readonly port: number;
    readonly active: number;
    readonly accepted: number;
  }[];
  upstream(): {
    readonly active: number;
    readonly idle: number;
    readonly connects: number;
  };
  /** Endpoints of backends. */
  endpoints(): Iterable<{
    /** Names of its backends. */
    readonly names: readonly string[];
    readonly health: {
      readonly state: string;
      /** By reason. */
      readonly ejections: Readonly<Record<string, number>>;
    };
  }>;
  /** Key sets of identity providers. */
  keySets(): readonly {
    readonly source: string;
    readonly ageSeconds: number | null;
    readonly refreshes: number;
    readonly failures: number;
  }[];
}

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
}

/** Adds the metrics of connections, key sets and limits. */
export function addStateMetrics(
  registry: MetricRegistry,
  state: StateReadings & LimitReadings,
): void {
  addConnectionMetrics(registry, state);
  addEndpointMetrics(registry, state);
  addKeySetMetrics(registry, () => state.keySets());
  addLimitMetrics(registry, state);
}

/** Adds the metrics of limits. */
export function addLimitMetrics(
  registry: MetricRegistry,
  limits: LimitReadings,
): void {
  addLocalLimitMetrics(registry, limits);
  addGlobalLimitMetrics(registry, limits);
}

function addConnectionMetrics(
  registry: MetricRegistry,
  { downstream, upstream }: StateReadings,
): void {
  registry.computed(
    "gauge",
    "gateway_downstream_connections_active",
    "Open downstream connections",
    ["port"],
    () => downstream().map(({ port, active }) => [active, String(port)]),
  );
  registry.computed(
    "counter",
    "gateway_downstream_connections_total",
    "Downstream connections accepted",
    ["port"],
    () => downstream().map(({ port, accepted }) => [accepted, String(port)]),
  );
  registry.computed(
    "gauge",
    "gateway_upstream_connections",
    "Open upstream connections",
    ["state"],
    () => {
      const { active, idle } = upstream();
      return [[active, "active"], [idle, "idle"]];
    },
  );
  registry.computed(
    "counter",
    "gateway_upstream_connects_total",
    "Upstream connections opened",
    [],
    () => [[upstream().connects]],
  );
}

function addEndpointMetrics(
  registry: MetricRegistry,
  { endpoints }: StateReadings,
): void {
  registry.computed(
    "gauge",
    "gateway_backend_endpoints",
    "Endpoints of backends that requests use, by health; each worker counts its own",
    ["backend", "state"],
    () => sumByLabels(endpoints(), ({ health: { state } }) => [[state, 1]]),
  );
  registry.computed(
    "counter",
    "gateway_backend_ejections_total",
    "Ejections of endpoints that are still in use",
    ["backend", "reason"],
    () =>
      sumByLabels(
        endpoints(),
        ({ health }) => Object.entries(health.ejections),
      ),
  );
}

/** Sums values by backend and one more label. */
function sumByLabels<Reading extends { readonly names: readonly string[] }>(
  readings: Iterable<Reading>,
  valuesOf: (reading: Reading) => readonly (readonly [string, number])[],
): readonly (readonly [number, string, string])[] {
  const sums = new Map<string, Map<string, number>>();
  for (const reading of readings) {
    for (const backend of reading.names) {
      const own = sums.getOrInsertComputed(backend, () => new Map());
      for (const [label, value] of valuesOf(reading)) {
        own.set(label, (own.get(label) ?? 0) + value);
      }
    }
  }
  return [...sums].flatMap(([backend, own]) =>
    [...own].map(([label, value]) => [value, backend, label] as const)
  );
}

/** Adds the metrics of the key sets that this thread fetches. */
export function addKeySetMetrics(
  registry: MetricRegistry,
  keySets: StateReadings["keySets"],
): void {
  registry.computed(
    "gauge",
    "gateway_jwks_age_seconds",
    "Time since the keys of an identity provider were fetched; no series before the first fetch",
    ["source"],
    () =>
      keySets().flatMap(({ source, ageSeconds }) =>
        ageSeconds === null ? [] : [[ageSeconds, source]]
      ),
    "max",
  );
  registry.computed(
    "counter",
    "gateway_jwks_refreshes_total",
    "Fetches of the keys of an identity provider",
    ["source", "result"],
    () =>
      keySets().flatMap(({ source, refreshes, failures }) => [
        [refreshes - failures, source, "success"],
        [failures, source, "failure"],
      ]),
  );
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
