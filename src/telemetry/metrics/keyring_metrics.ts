import type { MetricRegistry } from "./metrics.ts";

/** State of the keys in the store that metrics read at each collection; `undefined` while nobody uses them. */
export interface KeyringReadings {
  read(): {
    readonly objects: number;
    readonly bytes: number;
    readonly ageMs: number | undefined;
  } | undefined;
  /** Notices of budgets since the process started. */
  readonly notices: { readonly given: number; readonly failed: number };
}

/** Adds the metrics of the keys in the store. */
export function addKeyringMetrics(
  registry: MetricRegistry,
  keyring: KeyringReadings,
): void {
  const gauge = (
    name: string,
    help: string,
    valueOf: (
      reading: NonNullable<ReturnType<KeyringReadings["read"]>>,
    ) => number | undefined,
  ) =>
    registry.computed("gauge", name, help, [], () => {
      const reading = keyring.read();
      const value = reading && valueOf(reading);
      return value === undefined ? [] : [[value]];
    });
  registry.computed(
    "counter",
    "gateway_budget_notices_total",
    "Budgets that reached a percentage of their notifyAt",
    ["result"],
    () => {
      const { given, failed } = keyring.notices;
      return [[given, "given"], [failed, "webhook_failed"]];
    },
  );
  gauge(
    "gateway_keyring_objects",
    "Keys, users and teams in the store, as this process knows them",
    ({ objects }) => objects,
  );
  gauge(
    "gateway_keyring_bytes",
    "Memory of the keys, users and teams in the store",
    ({ bytes }) => bytes,
  );
  gauge(
    "gateway_keyring_age_seconds",
    "Time since the store of keys, users and teams was read",
    ({ ageMs }) => ageMs === undefined ? undefined : ageMs / 1000,
  );
}
