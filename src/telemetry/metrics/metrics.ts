import { toHead, toLabelText, toNumber, toSample } from "./prometheus_text.ts";

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
  /** @param value In the base unit: seconds, bytes. */
  observe(value: number): void;
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

/** The value of one series of a computed metric, with the values of its labels: `[3, "idle"]`. */
export type Reading = readonly [value: number, ...labels: string[]];

const MAX_SERIES = 2000;
const OVERFLOW_VALUE = "other";

/** Metrics by name, and their Prometheus text. */
export class MetricRegistry {
  readonly #families = new Map<
    string,
    { readonly head: string; samples(): Iterable<string> }
  >();

  counter(
    name: string,
    help: string,
    labelNames: readonly string[] = [],
  ): Family<Counter> {
    const head = toHead("counter", name, help);
    return this.#add(name, head, labelNames, () => new Scalar());
  }

  gauge(
    name: string,
    help: string,
    labelNames: readonly string[] = [],
  ): Family<Gauge> {
    const head = toHead("gauge", name, help);
    return this.#add(name, head, labelNames, () => new Scalar());
  }

  /** @param bounds Upper bounds of the buckets, ascending, without infinity. */
  histogram(
    name: string,
    help: string,
    labelNames: readonly string[],
    bounds: readonly number[],
  ): Family<Histogram> {
    const head = toHead("histogram", name, help);
    return this.#add(name, head, labelNames, () => new Distribution(bounds));
  }

  /** Adds a metric whose values are read at each collection. */
  computed(
    type: "counter" | "gauge",
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<Reading>,
  ): void {
    this.#register(name, toHead(type, name, help), function* () {
      for (const [value, ...labels] of read()) {
        yield toSample(name, toLabelText(labelNames, labels), value);
      }
    });
  }

  /**
   * Returns the metrics in the Prometheus text format, version 0.0.4.
   * @param names Only the metrics of these names.
   */
  collect(names?: ReadonlySet<string>): string {
    let text = "";
    for (const [name, { head, samples }] of this.#families) {
      if (names !== undefined && !names.has(name)) continue;
      text += head;
      for (const sample of samples()) text += sample;
    }
    return text;
  }

  #add<Series extends Sampled>(
    name: string,
    head: string,
    labelNames: readonly string[],
    create: () => Series,
  ): SeriesFamily<Series> {
    const family = new SeriesFamily(name, labelNames, create);
    this.#register(name, head, () => family.samples());
    return family;
  }

  #register(name: string, head: string, samples: () => Iterable<string>): void {
    if (this.#families.has(name)) {
      throw new TypeError(`Cannot register metric "${name}": it exists`);
    }
    this.#families.set(name, { head, samples });
  }
}

/** A series that can print itself. */
interface Sampled {
  /** Lines of the text format; `labels` is such as `method="GET"`, or empty. */
  samples(name: string, labels: string): Iterable<string>;
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

  *samples(): Iterable<string> {
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

  *samples(name: string, labels: string): Iterable<string> {
    yield toSample(name, labels, this.#value);
  }
}

class Distribution implements Histogram, Sampled {
  readonly #bounds: readonly number[];
  /** One more than bounds: the last counts larger values. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (value > (this.#bounds[bucket] ?? Infinity)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  *samples(name: string, labels: string): Iterable<string> {
    let total = 0;
    for (const [index, count] of this.#counts.entries()) {
      total += count;
      const bound = toNumber(this.#bounds[index] ?? Infinity);
      yield toSample(
        `${name}_bucket`,
        `${labels}${labels === "" ? "" : ","}le="${bound}"`,
        total,
      );
    }
    yield toSample(`${name}_sum`, labels, this.#sum);
    yield toSample(`${name}_count`, labels, total);
  }
}
