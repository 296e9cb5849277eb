import { toLabelText, toNumber, toSeries } from "./prometheus_text.ts";

/** A number that only grows. */
export interface Counter {
  /** @param amount At least 0; 1 when left out. */
  inc(amount?: number): void;
}

/** A number that goes up and down. */
export interface Gauge {
  set(value: number): void;
}

/** A distribution of values. */
export interface Histogram {
  /**
   * @param value In the base unit: seconds, bytes.
   * @param span Span of an example; the latest one of each bucket is kept.
   */
  observe(value: number, span?: ExampleSpan): void;
}

/** A span that is exported, as the example of a value. */
export interface ExampleSpan {
  readonly traceId: string;
  readonly spanId: string;
}

/** A value of a bucket, with its span. */
export interface Exemplar extends ExampleSpan {
  readonly value: number;
}

/** The metrics of one name: one series for each combination of label values. */
export interface Family<Series> {
  /**
   * Returns the series of these values, in the order of the label names; keep it where it is used often.
   *
   * A family holds 2,000 series at most; the rest share one whose labels are all `other`.
   */
  labels(...values: readonly string[]): Series;
}

/** Type of a metric, as Prometheus names it. */
export type MetricType = "counter" | "gauge" | "histogram";

/** Combines the values of several threads into one. */
export type Merge = "sum" | "max";

/** The samples of a metric at one time. */
export interface MetricReading {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly merge: Merge;
  readonly samples: readonly Sample[];
}

/** A name with its labels, such as `x_total{a="b"}`, and its value. */
export type Sample = readonly [
  series: string,
  value: number,
  exemplar?: Exemplar | undefined,
];

/** The value of one series of a computed metric, with the values of its labels: `[3, "idle"]`. */
export type Reading = readonly [value: number, ...labels: string[]];

const MAX_SERIES = 2000;
const OVERFLOW_VALUE = "other";

/** A metric that can be read. */
interface Metric extends Omit<MetricReading, "samples"> {
  samples(): Iterable<Sample>;
}

/** Metrics by name. */
export class MetricRegistry {
  readonly #metrics = new Map<string, Metric>();

  counter(
    name: string,
    help: string,
    labelNames: readonly string[] = [],
  ): Family<Counter> {
    return this.#add("counter", name, help, labelNames, () => new Scalar());
  }

  gauge(
    name: string,
    help: string,
    labelNames: readonly string[] = [],
  ): Family<Gauge> {
    return this.#add("gauge", name, help, labelNames, () => new Scalar());
  }

  /** @param bounds Upper bounds of the buckets, ascending, without infinity. */
  histogram(
    name: string,
    help: string,
    labelNames: readonly string[],
    bounds: readonly number[],
  ): Family<Histogram> {
    const create = () => new Distribution(bounds);
    return this.#add("histogram", name, help, labelNames, create);
  }

  /**
   * Adds a metric whose values are read at each collection.
   * @param merge How the values of several threads become one; `max` where each of them knows the value of all.
   */
  computed(
    type: "counter" | "gauge",
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<Reading>,
    merge: Merge = "sum",
  ): void {
    const samples = function* (): Iterable<Sample> {
      for (const [value, ...labels] of read()) {
        yield [toSeries(name, toLabelText(labelNames, labels)), value];
      }
    };
    this.#register({ name, type, help, merge, samples });
  }

  /**
   * Reads the metrics, to merge them with those of other threads.
   * @param names Only the metrics of these names.
   */
  read(names?: ReadonlySet<string>): readonly MetricReading[] {
    return [...this.#named(names)].map((metric) => ({
      ...metric,
      samples: [...metric.samples()],
    }));
  }

  *#named(names?: ReadonlySet<string>): Iterable<Metric> {
    for (const metric of this.#metrics.values()) {
      if (names === undefined || names.has(metric.name)) yield metric;
    }
  }

  #add<Series extends Sampled>(
    type: MetricType,
    name: string,
    help: string,
    labelNames: readonly string[],
    create: () => Series,
  ): SeriesFamily<Series> {
    const family = new SeriesFamily(name, labelNames, create);
    const samples = () => family.samples();
    this.#register({ name, type, help, merge: "sum", samples });
    return family;
  }

  #register(metric: Metric): void {
    if (this.#metrics.has(metric.name)) {
      throw new TypeError(`Cannot register metric "${metric.name}": it exists`);
    }
    this.#metrics.set(metric.name, metric);
  }
}

/** A series that can print itself. */
interface Sampled {
  /** @param labels Such as `method="GET"`, or empty. */
  samples(name: string, labels: string): Iterable<Sample>;
}

class SeriesFamily<Series extends Sampled> implements Family<Series> {
  readonly #name: string;
  readonly #labelNames: readonly string[];
  readonly #create: () => Series;
  readonly #series = new Map<
    string,
    { readonly labels: string; readonly series: Series }
  >();

  constructor(
    name: string,
    labelNames: readonly string[],
    create: () => Series,
  ) {
    this.#name = name;
    this.#labelNames = labelNames;
    this.#create = create;
    // A metric without labels exists from the start, so that its first increase is visible.
    if (labelNames.length === 0) this.labels();
  }

  labels(...values: readonly string[]): Series {
    const key = values.join("\0");
    const known = this.#series.get(key);
    if (known !== undefined) return known.series;
    if (values.length !== this.#labelNames.length) {
      throw new TypeError(
        `Cannot label "${this.#name}": expected ${this.#labelNames.length} values, got ${values.length}`,
      );
    }
    const overflow = this.#labelNames.map(() => OVERFLOW_VALUE);
    if (this.#series.size >= MAX_SERIES && key !== overflow.join("\0")) {
      return this.labels(...overflow);
    }
    const series = this.#create();
    this.#series.set(key, {
      labels: toLabelText(this.#labelNames, values),
      series,
    });
    return series;
  }

  *samples(): Iterable<Sample> {
    for (const { labels, series } of this.#series.values()) {
      yield* series.samples(this.#name, labels);
    }
  }
}

class Scalar implements Counter, Gauge, Sampled {
  #value = 0;

  inc(amount = 1): void {
    this.#value += amount;
  }

  set(value: number): void {
    this.#value = value;
  }

  *samples(name: string, labels: string): Iterable<Sample> {
    yield [toSeries(name, labels), this.#value];
  }
}

class Distribution implements Histogram, Sampled {
  readonly #bounds: readonly number[];
  /** One more than bounds: the last counts larger values. */
  readonly #counts: Float64Array;
  readonly #exemplars: (Exemplar | undefined)[] = [];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number, span?: ExampleSpan): void {
    let bucket = 0;
    while (value > (this.#bounds[bucket] ?? Infinity)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
    if (span === undefined) return;
    const { traceId, spanId } = span;
    this.#exemplars[bucket] = { traceId, spanId, value };
  }

  *samples(name: string, labels: string): Iterable<Sample> {
    let total = 0;
    for (const [index, count] of this.#counts.entries()) {
      total += count;
      const bound = toNumber(this.#bounds[index] ?? Infinity);
      const bucket = `${labels}${labels === "" ? "" : ","}le="${bound}"`;
      yield [
        toSeries(`${name}_bucket`, bucket),
        total,
        this.#exemplars[index],
      ];
    }
    yield [toSeries(`${name}_sum`, labels), this.#sum];
    yield [toSeries(`${name}_count`, labels), total];
  }
}
