/** Curves of the traffic. */
import type {
  TrafficReport,
} from "../../../../../src/telemetry/traffic/traffic_report.ts";
import { Chart, type Series, type SeriesColor } from "../../kit/chart.tsx";
import { compact, dollars, latency } from "../../kit/format.ts";
import { Section } from "../../kit/layout.tsx";
import { titleOf } from "./traffic_view.ts";

const SYNC_KEY = "traffic";

const seriesColors: readonly SeriesColor[] = [
  "series-1",
  "series-2",
  "series-3",
  "series-4",
  "series-5",
  "series-6",
];

interface TrafficChartsProps {
  readonly report: TrafficReport;
  /** The range in words. */
  readonly text: string;
}

/** Charts whose cursors move together; those of LLMs only if there are any. */
export function TrafficCharts({ report, text }: TrafficChartsProps) {
  const { series, by, name } = report;
  const { requests, clientErrors, serverErrors } = series;
  const common = { report, text };
  return (
    <div class="grid-2 charts">
      <Panel
        {...common}
        title="Requests per second"
        format={compact}
        series={[
          { label: "All", color: "accent", values: requests, isFilled: true },
          { label: "4xx", color: "warn", values: clientErrors },
          { label: "5xx", color: "bad", values: serverErrors },
        ]}
      />
      <Panel
        {...common}
        title="Latency"
        format={latency}
        series={[
          { label: "p50", color: "series-2", values: series.p50 },
          { label: "p95", color: "series-1", values: series.p95 },
          { label: "p99", color: "series-4", values: series.p99 },
        ]}
      />
      {name === null && (
        <Panel
          {...common}
          title={`Requests per second by ${by}`}
          format={compact}
          series={namesOf(report)}
        />
      )}
      <LlmPanels {...common} />
    </div>
  );
}

function LlmPanels({ report, text }: TrafficChartsProps) {
  const { series, figures } = report;
  const common = { report, text };
  return (
    <>
      {figures.firstToken50 !== null && (
        <Panel
          {...common}
          title="Time to the first token"
          format={latency}
          series={[
            { label: "p50", color: "series-2", values: series.firstToken50 },
            { label: "p95", color: "series-1", values: series.firstToken95 },
          ]}
        />
      )}
      {figures.inputTokens + figures.outputTokens > 0 && (
        <Panel
          {...common}
          title="Tokens per second"
          format={compact}
          series={[
            { label: "Input", color: "series-1", values: series.inputTokens },
            { label: "Output", color: "series-3", values: series.outputTokens },
          ]}
        />
      )}
      {figures.costUsd > 0 && (
        <Panel
          {...common}
          title="Cost per hour"
          format={dollars}
          series={[{
            label: "Cost",
            color: "series-6",
            values: series.costUsd,
            isFilled: true,
          }]}
        />
      )}
    </>
  );
}

interface PanelProps extends TrafficChartsProps {
  readonly title: string;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

function Panel({ report, text, title, series, format }: PanelProps) {
  const { times, stepSeconds } = report;
  const first = times[0] ?? 0;
  const last = (times.at(-1) ?? 0) + stepSeconds;
  return (
    <Section title={title}>
      <Chart
        label={`${title} over the last ${text}: ${
          series.map(({ label }) => label).join(", ")
        }`}
        times={times}
        span={[first, last]}
        series={series}
        format={format}
        height={170}
        syncKey={SYNC_KEY}
      />
    </Section>
  );
}

/** Returns the curves of the names with the most requests. Each keeps its color while its place stays. */
function namesOf({ rows, by }: TrafficReport): readonly Series[] {
  const named = rows.filter(({ name }) => name !== null);
  return seriesColors.flatMap((color, index) => {
    const row = named[index];
    if (row === undefined) return [];
    return [{ label: titleOf(row.name, by), color, values: row.rates }];
  });
}
