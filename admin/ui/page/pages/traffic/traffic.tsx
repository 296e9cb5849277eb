/** Traffic of the last minutes and hours, which the gateway keeps. */
import type {
  TrafficFigures,
  TrafficReport,
} from "../../../../../src/telemetry/traffic/traffic_report.ts";
import type { PageProps } from "../../navigation/page.ts";
import { linkTo, remember } from "../../navigation/place.ts";
import { type Figure, Stats } from "../../kit/data.tsx";
import { compact, dollars, latency, percent } from "../../kit/format.ts";
import { useRef } from "../../kit/framework.ts";
import { Button, Segments } from "../../kit/inputs.tsx";
import { Empty, PageHead, Problem } from "../../kit/layout.tsx";
import { usePolled } from "../../server/poll.ts";
import { TrafficCharts } from "./traffic_charts.tsx";
import {
  dimensions,
  pathOf,
  ranges,
  readView,
  titleOf,
  type TrafficView,
  writeView,
} from "./traffic_view.ts";
import { TrafficTable } from "./traffic_table.tsx";

/** The page of traffic. */
export function Traffic({ argument }: PageProps) {
  const view = readView(argument);
  const { range, by, name } = view;
  const change = (next: Partial<TrafficView>) =>
    remember("traffic", writeView({ ...view, ...next }));
  const chosen = ranges.find(({ value }) => value === range) ?? ranges[0];
  const { data, error } = usePolled(
    pathOf(view),
    chosen.intervalMs,
  );
  // Another selection keeps the last one on the page until it has arrived.
  const latest = useRef<TrafficReport | undefined>(undefined);
  latest.current = data.value ?? latest.current;
  const report = latest.current;
  return (
    <>
      <PageHead
        title="Traffic"
        about="All workers together, kept by the gateway: the past is here when you open the page."
        actions={
          <Segments
            label="Range"
            options={ranges}
            value={range}
            onChange={(range) => change({ range })}
          />
        }
      />
      <Problem>{error}</Problem>
      <div class="row">
        <Segments
          label="Divide by"
          options={dimensions}
          value={by}
          onChange={(by) => change({ by, name: undefined })}
        />
        {name !== undefined && (
          <Selection
            view={view}
            onClear={() => change({ name: undefined })}
          />
        )}
      </div>
      {report &&
        (isEmpty(report) ? <NoTraffic text={chosen.text} /> : (
          <>
            <div class="numbers">
              <Numbers figures={report.figures} seconds={report.seconds} />
            </div>
            <TrafficCharts report={report} text={chosen.text} />
            <TrafficTable
              report={report}
              selected={name}
              onSelect={(name) => change({ name })}
            />
          </>
        ))}
    </>
  );
}

function isEmpty({ figures, rows }: TrafficReport): boolean {
  return figures.requests === 0 && rows.length === 0;
}

interface SelectionProps {
  readonly view: TrafficView;
  readonly onClear: () => void;
}

function Selection({ view: { by, name = "" }, onClear }: SelectionProps) {
  return (
    <p class="selection">
      <span class="quiet">Only {by}</span>
      <strong>{titleOf(name, by)}</strong>
      <Button onPress={onClear} class="small">Show all</Button>
      {name !== "" && by !== "backend" && (
        <a
          href={linkTo(
            "requests",
            new URLSearchParams({ [by]: name }).toString(),
          )}
        >
          Show its requests
        </a>
      )}
    </p>
  );
}

function NoTraffic({ text }: { readonly text: string }) {
  return (
    <Empty title={`No requests in the last ${text}`} isPanel>
      Send one to a listener, and it appears here within seconds.{" "}
      <a href={linkTo("topology")}>Topology</a>{" "}
      has the ports and routes. A longer range shows what was before.
    </Empty>
  );
}

interface NumbersProps {
  readonly figures: TrafficFigures;
  readonly seconds: number;
}

function Numbers({ figures, seconds }: NumbersProps) {
  const { requests, clientErrors, serverErrors } = figures;
  return (
    <Stats
      figures={[
        [
          "Requests",
          compact(requests / seconds),
          `per second; ${compact(requests)} in all`,
        ],
        [
          "Errors",
          percent(
            requests === 0 ? null : (clientErrors + serverErrors) / requests,
          ),
          `4xx ${compact(clientErrors)}, 5xx ${compact(serverErrors)}`,
          serverErrors > 0 ? "bad" : clientErrors > 0 ? "warn" : undefined,
        ],
        ["p50", latency(figures.p50), "half are faster"],
        ["p95", latency(figures.p95), "1 of 20 is slower"],
        ["p99", latency(figures.p99), "1 of 100 is slower"],
        ...llmFigures(figures, seconds),
      ]}
    />
  );
}

function llmFigures(
  { firstToken50, firstToken95, inputTokens, outputTokens, costUsd }:
    TrafficFigures,
  seconds: number,
): readonly Figure[] {
  const shown: Figure[] = [];
  if (firstToken50 !== null) {
    const detail = `p50; p95 ${latency(firstToken95)}`;
    shown.push(["First token", latency(firstToken50), detail]);
  }
  if (inputTokens + outputTokens > 0) {
    const tokens = `${compact(inputTokens)} in, ${compact(outputTokens)} out`;
    const hourly = `${dollars(costUsd / seconds * 3600)} per hour`;
    shown.push(
      ["Tokens", compact(inputTokens + outputTokens), tokens],
      ["Cost", dollars(costUsd), hourly],
    );
  }
  return shown;
}
