import { NANO_USD } from "../../base/log/log_text.ts";
import { quantile } from "./histogram.ts";
import { createNamedPoints, mergeNamedPoints } from "./named_points.ts";
import type { TrafficBucket, TrafficDimension } from "./traffic_bucket.ts";
import { createPoint, mergePoint, type TrafficPoint } from "./traffic_point.ts";
import type { TrafficRange } from "./traffic_range.ts";

/** Selects what `TrafficReport` is about. */
export interface TrafficQuery {
  readonly range: TrafficRange;
  readonly by: TrafficDimension;
  /** Only the traffic of this route, backend, model or key. */
  readonly name?: string | undefined;
}

/** Figures of a group of requests. Times are in milliseconds; `null` without requests. */
export interface TrafficFigures {
  readonly requests: number;
  /** Responses with 4xx. */
  readonly clientErrors: number;
  /** Responses with 5xx. */
  readonly serverErrors: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  /** Time to the first token of streamed LLM responses. */
  readonly firstToken50: number | null;
  readonly firstToken95: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** The figures of one route, backend, model or key. */
export interface TrafficRow extends TrafficFigures {
  /** Empty for requests without one; `null` for all names that have no row. */
  readonly name: string | null;
  /** Requests per second, one number for each of the times. */
  readonly rates: readonly (number | null)[];
}

/** The figures as curves, one number for each of the times: sums per second, costs per hour; `null` where nothing is known. */
export type TrafficSeries = Readonly<
  Record<keyof TrafficFigures, readonly (number | null)[]>
>;

/** Traffic over a range of time: curves, sums, and sums by name. */
export interface TrafficReport {
  readonly range: TrafficRange;
  readonly by: TrafficDimension;
  readonly name: string | null;
  readonly stepSeconds: number;
  /** Seconds of the range in which the gateway ran. */
  readonly seconds: number;
  /** Starts of the steps, in seconds since 1970. */
  readonly times: readonly number[];
  readonly figures: TrafficFigures;
  readonly series: TrafficSeries;
  /** Most requests first. */
  readonly rows: readonly TrafficRow[];
}

/** The buckets of a range that ends at `now`. Times are in milliseconds since the epoch. */
export interface TrafficReading {
  readonly now: number;
  readonly startedAt: number;
  readonly stepMs: number;
  /** In order. */
  readonly buckets: readonly TrafficBucket[];
}

/** A shorter part of a step has no rate yet. */
const MIN_PART = 0.2;

/** Computes the report. */
export function describeTraffic(
  { range, by, name }: TrafficQuery,
  reading: TrafficReading,
): TrafficReport {
  const { buckets, now, startedAt, stepMs } = reading;
  const selected = buckets.map((bucket) =>
    name === undefined ? bucket.total : bucket.by[by].named.get(name)
  );
  const sum = createPoint();
  for (const point of selected) if (point !== undefined) mergePoint(sum, point);
  const seconds = buckets.map((bucket) => secondsOf(bucket, reading));
  const first = buckets[0]?.start ?? now;
  return {
    range,
    by,
    name: name ?? null,
    stepSeconds: stepMs / 1000,
    seconds: Math.max(1, (now - Math.max(first, startedAt)) / 1000),
    times: buckets.map(({ start }) => start / 1000),
    figures: figuresOf(sum),
    series: seriesOf(selected, seconds),
    rows: rowsOf(buckets, by, seconds),
  };
}

/** Returns the seconds of a bucket in which the gateway ran; `undefined` if that is too short a part to know a rate. */
function secondsOf(
  { start }: TrafficBucket,
  { now, startedAt, stepMs }: TrafficReading,
): number | undefined {
  const ms = Math.min(now, start + stepMs) - Math.max(start, startedAt);
  return ms < stepMs * MIN_PART ? undefined : ms / 1000;
}

function figuresOf(point: TrafficPoint): TrafficFigures {
  const { requests, clientErrors, serverErrors } = point;
  const { inputTokens, outputTokens, nanoUsd } = point;
  return {
    requests,
    clientErrors,
    serverErrors,
    p50: quantile(point.durations, 0.5),
    p95: quantile(point.durations, 0.95),
    p99: quantile(point.durations, 0.99),
    firstToken50: quantile(point.firstTokens, 0.5),
    firstToken95: quantile(point.firstTokens, 0.95),
    inputTokens,
    outputTokens,
    costUsd: nanoUsd / NANO_USD,
  };
}

function seriesOf(
  points: readonly (TrafficPoint | undefined)[],
  seconds: readonly (number | undefined)[],
): TrafficSeries {
  const figures = points.map((point = createPoint()) => figuresOf(point));
  // The first requests of an unfinished step are its fastest ones.
  const values = (name: keyof TrafficFigures) =>
    figures.map((each, at) => seconds[at] === undefined ? null : each[name]);
  const perSecond = (name: keyof TrafficFigures, factor = 1) =>
    rates(figures.map((each) => (each[name] ?? 0) * factor), seconds);
  return {
    requests: perSecond("requests"),
    clientErrors: perSecond("clientErrors"),
    serverErrors: perSecond("serverErrors"),
    p50: values("p50"),
    p95: values("p95"),
    p99: values("p99"),
    firstToken50: values("firstToken50"),
    firstToken95: values("firstToken95"),
    inputTokens: perSecond("inputTokens"),
    outputTokens: perSecond("outputTokens"),
    costUsd: perSecond("costUsd", 3600),
  };
}

function rates(
  counts: readonly number[],
  seconds: readonly (number | undefined)[],
): readonly (number | null)[] {
  return counts.map((count, index) => {
    const divisor = seconds[index];
    return divisor === undefined
      ? null
      : Math.round(count / divisor * 1e4) / 1e4;
  });
}

function rowsOf(
  buckets: readonly TrafficBucket[],
  by: TrafficDimension,
  seconds: readonly (number | undefined)[],
): readonly TrafficRow[] {
  const sums = createNamedPoints();
  for (const bucket of buckets) mergeNamedPoints(sums, bucket.by[by]);
  const rows = Array.from(sums.named, ([name, point]): TrafficRow => ({
    name,
    ...figuresOf(point),
    rates: rates(
      buckets.map((each) => each.by[by].named.get(name)?.requests ?? 0),
      seconds,
    ),
  })).sort((a, b) =>
    b.requests - a.requests || compareTexts(a.name ?? "", b.name ?? "")
  );
  if (sums.other.requests === 0) return rows;
  return [...rows, {
    name: null,
    ...figuresOf(sums.other),
    rates: buckets.map(() => null),
  }];
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
