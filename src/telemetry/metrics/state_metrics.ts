import { addMcpMetrics, type McpReadings } from "./mcp_metrics.ts";
import type { MetricRegistry } from "./metrics.ts";
import { addLimitMetrics, type LimitReadings } from "./limit_metrics.ts";

/** State of the data plane that metrics read at each collection. */
export interface StateReadings {
  /** Requests that were accepted and are not over. */
  requestsUnderWay(): number;
  /** Certificates of listeners. */
  certificates(): Iterable<{
    /** As configured. */
    readonly port: string;
    readonly hostname: string;
    /** Milliseconds since the epoch. */
    readonly expiresAt: number;
  }>;
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
    /** `undefined` without checks. */
    readonly check:
      | { readonly counts: Readonly<Record<string, number>> }
      | undefined;
  }>;
  /** Names of backends that are looked up. */
  lookups(): Iterable<{
    readonly names: readonly string[];
    /** By result. */
    readonly counts: Readonly<Record<string, number>>;
  }>;
  /** Backends that rest, on routes with several priorities. */
  cooldowns(): Iterable<{
    readonly name: string;
    /** Set when requests for other models may go there. */
    readonly model?: string;
    readonly remainingMs: number;
  }>;
  readonly mcpEndpoints: McpReadings["mcpEndpoints"];
  /** Key sets of identity providers. */
  keySets(): readonly {
    readonly source: string;
    readonly ageSeconds: number | null;
    readonly refreshes: number;
    readonly failures: number;
  }[];
}

/** Adds the metrics of connections, key sets and limits. */
export function addStateMetrics(
  registry: MetricRegistry,
  state: StateReadings & LimitReadings,
): void {
  registry.computed(
    "gauge",
    "gateway_requests_in_flight",
    "Requests that were accepted and are not over",
    [],
    () => [[state.requestsUnderWay()]],
  );
  registry.computed(
    "gauge",
    "gateway_certificate_expiry_seconds",
    "Time when the certificate of a listener expires, since the epoch",
    ["port", "hostname"],
    () =>
      Iterator.from(state.certificates()).map((each) =>
        [each.expiresAt / 1000, each.port, each.hostname] as const
      ),
    "max",
  );
  addConnectionMetrics(registry, state);
  addEndpointMetrics(registry, state);
  addMcpMetrics(registry, state);
  addKeySetMetrics(registry, () => state.keySets());
  addLimitMetrics(registry, state);
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
  { endpoints, lookups, cooldowns }: StateReadings,
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
  registry.computed(
    "counter",
    "gateway_backend_health_checks_total",
    "Checks of endpoints that are still in use",
    ["backend", "result"],
    () =>
      sumByLabels(
        endpoints(),
        ({ check }) => Object.entries(check?.counts ?? {}),
      ),
  );
  registry.computed(
    "counter",
    "gateway_backend_lookups_total",
    "Look-ups of the names of backends that are still in use",
    ["backend", "result"],
    () => sumByLabels(lookups(), ({ counts }) => Object.entries(counts)),
  );
  registry.computed(
    "gauge",
    "gateway_backend_cooldown_seconds",
    "Time for which a backend, or a model there, still rests; no series for others",
    ["backend", "model"],
    () =>
      Iterator.from(cooldowns()).map(({ name, model = "", remainingMs }) =>
        [remainingMs / 1000, name, model] as const
      ),
    "max",
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
