import { BinaryWriter, WireType } from "../../../base/wire/protobuf_wire.ts";
import type { MetricReading, Sample } from "../../metrics/metrics.ts";
import { parseSeries } from "../../metrics/prometheus_text.ts";
import {
  lengthDelimited,
  writeAttributes,
  writeText,
  writeTime,
} from "./attributes_message.ts";

const CUMULATIVE = 2;

/** Times of a reading, in milliseconds since the epoch. */
export interface ReadingTimes {
  /** When the process started to count. */
  readonly startedAt: number;
  readonly now: number;
}

/** Encodes a metric as `opentelemetry.proto.metrics.v1.Metric`; values are totals since the start, as in `/metrics`. */
export function encodeMetric(
  metric: MetricReading,
  times: ReadingTimes,
): Uint8Array {
  const { name, help, type, samples } = metric;
  const writer = new BinaryWriter();
  writeText(writer, 1, name);
  writeText(writer, 2, help);
  writeText(writer, 3, unitOf(name));
  const field = { gauge: 5, counter: 7, histogram: 9 }[type];
  lengthDelimited(writer, field).fork();
  if (type === "histogram") {
    for (const points of histogramPoints(name, samples)) {
      writeHistogramPoint(writer, points, times);
    }
  } else {
    for (const sample of samples) writeNumberPoint(writer, sample, times);
  }
  if (type !== "gauge") writer.tag(2, WireType.Varint).int32(CUMULATIVE);
  if (type === "counter") writer.tag(3, WireType.Varint).bool(true);
  return writer.join().finish();
}

/** Units in the notation of UCUM, by the ends of names. */
function unitOf(name: string): string {
  const base = name.replace(/_total$/, "");
  if (base.endsWith("_seconds")) return "s";
  if (base.endsWith("_bytes")) return "By";
  return base.endsWith("_usd") ? "USD" : "";
}

function writeNumberPoint(
  writer: BinaryWriter,
  [series, value]: Sample,
  { startedAt, now }: ReadingTimes,
): void {
  lengthDelimited(writer, 1).fork();
  writeTime(writer, 2, startedAt);
  writeTime(writer, 3, now);
  writer.tag(4, WireType.Bit64).double(value);
  writeAttributes(writer, 7, parseSeries(series).labels);
  writer.join();
}

/** The samples of one series of a histogram. */
interface HistogramPoints {
  readonly labels: Readonly<Record<string, string>>;
  /** Counts up to each bound, and of all values. */
  readonly cumulative: number[];
  readonly bounds: number[];
  sum: number;
}

function histogramPoints(
  name: string,
  samples: readonly Sample[],
): Iterable<HistogramPoints> {
  const bySeries = new Map<string, HistogramPoints>();
  for (const [series, value] of samples) {
    const { name: part, labels: { le, ...labels } } = parseSeries(series);
    const points = bySeries.getOrInsertComputed(
      JSON.stringify(labels),
      () => ({ labels, cumulative: [], bounds: [], sum: 0 }),
    );
    if (part === `${name}_sum`) points.sum = value;
    if (part !== `${name}_bucket` || le === undefined) continue;
    points.cumulative.push(value);
    if (le !== "+Inf") points.bounds.push(Number(le));
  }
  return bySeries.values();
}

function writeHistogramPoint(
  writer: BinaryWriter,
  { labels, cumulative, bounds, sum }: HistogramPoints,
  { startedAt, now }: ReadingTimes,
): void {
  lengthDelimited(writer, 1).fork();
  writeTime(writer, 2, startedAt);
  writeTime(writer, 3, now);
  writer.tag(4, WireType.Bit64).fixed64(cumulative.at(-1) ?? 0);
  writer.tag(5, WireType.Bit64).double(sum);
  lengthDelimited(writer, 6).fork();
  let before = 0;
  for (const count of cumulative) {
    writer.fixed64(count - before);
    before = count;
  }
  writer.join();
  lengthDelimited(writer, 7).fork();
  for (const bound of bounds) writer.double(bound);
  writer.join();
  writeAttributes(writer, 9, labels);
  writer.join();
}
