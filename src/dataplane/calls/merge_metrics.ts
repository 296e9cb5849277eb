import type { MetricReading, Sample } from "../../telemetry/metrics/metrics.ts";

/** Merges the metrics of several threads into those of one gateway, in the order of the first that has each. */
export function mergeMetrics(
  readings: Iterable<readonly MetricReading[]>,
): MetricReading[] {
  const merged = new Map<
    string,
    { readonly metric: MetricReading; readonly samples: Map<string, Sample> }
  >();
  for (const metric of [...readings].flat()) {
    const { samples } = merged.getOrInsertComputed(
      metric.name,
      () => ({ metric, samples: new Map() }),
    );
    for (const sample of metric.samples) add(samples, sample, metric.merge);
  }
  return [...merged.values()].map(({ metric, samples }) => ({
    ...metric,
    samples: [...samples.values()],
  }));
}

function add(
  samples: Map<string, Sample>,
  sample: Sample,
  merge: MetricReading["merge"],
): void {
  const [series, value, exemplar] = sample;
  const known = samples.get(series);
  if (known === undefined) return void samples.set(series, sample);
  const [, before, example] = known;
  samples.set(series, [
    series,
    merge === "sum" ? before + value : Math.max(before, value),
    exemplar ?? example,
  ]);
}

/** Metrics of workers that have ended: totals never decrease, as Prometheus would take that for a restart of the gateway. */
export class EndedMetrics {
  #totals: readonly MetricReading[] = [];
  readonly #last = new Map<number, readonly MetricReading[]>();

  /** @param names Only the metrics of these names. */
  totals(names?: ReadonlySet<string>): readonly MetricReading[] {
    return this.#totals.filter(({ name }) => names?.has(name) ?? true);
  }

  /** Remembers the latest metrics of each worker. */
  remember(
    workers: readonly {
      readonly worker: number | undefined;
      readonly part: readonly MetricReading[];
    }[],
  ): void {
    for (const { worker, part } of workers) {
      if (worker !== undefined) this.#last.set(worker, part);
    }
  }

  /** Keeps the latest totals of a worker that has ended. */
  keep(worker: number): void {
    const totals = this.#last.get(worker)?.filter(({ type, merge }) =>
      type !== "gauge" && merge === "sum"
    );
    this.#last.delete(worker);
    if (totals !== undefined) {
      this.#totals = mergeMetrics([this.#totals, totals]);
    }
  }
}
