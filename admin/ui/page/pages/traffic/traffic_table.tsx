/** Sums by route, backend, model or key. */
import type {
  TrafficReport,
  TrafficRow,
} from "../../../../../src/telemetry/traffic/traffic_report.ts";
import {
  compact,
  dollars,
  latency,
  number,
  percent,
} from "../../kit/format.ts";
import { useNextFrame } from "../../kit/frames.ts";
import { useRef, useState } from "../../kit/framework.ts";
import { Button, Segments } from "../../kit/inputs.tsx";
import { Section } from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import {
  dimensions,
  type Sorting,
  sortings,
  sortRows,
  titleOf,
} from "./traffic_view.ts";

interface TrafficTableProps {
  readonly report: TrafficReport;
  readonly selected: string | undefined;
  /** Called with the name, or `undefined` to select all. */
  readonly onSelect: (name: string | undefined) => void;
}

/** A row for each name; a press shows the charts of that name alone. Drawn after the charts, in a frame of its own. */
export function TrafficTable(props: TrafficTableProps) {
  const report = useNextFrame(props.report);
  return report === undefined
    ? null
    : <TrafficRows {...props} report={report} />;
}

function TrafficRows({ report, selected, onSelect }: TrafficTableProps) {
  const { by } = report;
  const [sorting, sortBy] = useState<Sorting>("requests");
  const element = useRef<HTMLDivElement>(null);
  const rows = useHeldOrder(report, sorting, element);
  const dimension = dimensions.find(({ value }) => value === by);
  const hasTokens = rows.some((row) => row.inputTokens + row.outputTokens > 0);
  const all = rows.reduce((sum, { requests }) => sum + requests, 0);
  const title = dimension?.title ?? "";
  const columns: readonly Column<TrafficRow>[] = [
    [title, ({ name }) =>
      name === null ? titleOf(name, by) : (
        <Button
          class="name"
          isPressed={name === selected}
          onPress={() => onSelect(name === selected ? undefined : name)}
        >
          {titleOf(name, by)}
        </Button>
      )],
    ...figuresOf(all),
    ...hasTokens ? tokenColumns : [],
  ];
  return (
    <Section
      title={`By ${title.toLowerCase()}`}
      about={`Press a name to see its curves. The ${dimension?.plural} with the most requests have a row.`}
      isFlush
      actions={
        <Segments
          label="Sort by"
          options={sortings.filter(({ isOfTokens }) =>
            hasTokens || !isOfTokens
          )}
          value={sorting}
          onChange={sortBy}
        />
      }
    >
      <div ref={element} class="traffic-table">
        {rows.length === 0
          ? <p class="nothing quiet">None in this range.</p>
          : (
            <Table
              label={`Traffic by ${title.toLowerCase()}`}
              rows={rows}
              keyOf={({ name }) => name ?? "\0"}
              columns={columns}
            />
          )}
      </div>
    </Section>
  );
}

/** Returns the columns of all kinds of traffic. @param all Requests of all rows. */
function figuresOf(all: number): readonly Column<TrafficRow>[] {
  return [
    ["Trend", ({ rates }) => <Trend values={rates} />],
    ["Requests", ({ requests }) => number(requests), "number"],
    [
      "Share",
      ({ requests }) => percent(all === 0 ? null : requests / all),
      "number",
    ],
    [
      "4xx",
      ({ clientErrors, requests }) => (
        <Errors count={clientErrors} of={requests} tone="warn" />
      ),
      "number",
    ],
    [
      "5xx",
      ({ serverErrors, requests }) => (
        <Errors count={serverErrors} of={requests} tone="bad" />
      ),
      "number",
    ],
    ["p50", ({ p50 }) => latency(p50), "number"],
    ["p95", ({ p95 }) => latency(p95), "number"],
    ["p99", ({ p99 }) => latency(p99), "number"],
  ];
}

const tokenColumns: readonly Column<TrafficRow>[] = [
  ["First token", ({ firstToken95 }) => latency(firstToken95), "number"],
  [
    "Tokens in / out",
    ({ inputTokens, outputTokens }) =>
      inputTokens + outputTokens === 0
        ? "–"
        : `${compact(inputTokens)} / ${compact(outputTokens)}`,
    "number",
  ],
  ["Cost", ({ costUsd }) => dollars(costUsd === 0 ? null : costUsd), "number"],
];

interface ErrorsProps {
  readonly count: number;
  readonly of: number;
  readonly tone: "warn" | "bad";
}

/** A share in the color of its tone, if there is any. */
function Errors({ count, of, tone }: ErrorsProps) {
  return count === 0
    ? <span class="quiet">0</span>
    : <span class={`figure ${tone}`}>{percent(count / of)}</span>;
}

const WIDTH = 72;
const HEIGHT = 20;

/** A curve without axes; the chart above has them. */
function Trend({ values }: { readonly values: TrafficRow["rates"] }) {
  const known = values.map((value) => value ?? 0);
  const max = Math.max(...known, 1e-9);
  const points = known.map((value, index) =>
    `${(index / Math.max(1, known.length - 1) * WIDTH).toFixed(1)},${
      (HEIGHT - 1 - value / max * (HEIGHT - 2)).toFixed(1)
    }`
  );
  return (
    <svg class="trend" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polyline points={points.join(" ")} />
    </svg>
  );
}

/** Returns the rows; while the pointer or the focus is on the table, none changes its place. */
function useHeldOrder(
  { rows, by, range }: TrafficReport,
  sorting: Sorting,
  element: { readonly current: HTMLDivElement | null },
): readonly TrafficRow[] {
  const held = useRef<{ view: string; names: readonly (string | null)[] }>({
    view: "",
    names: [],
  });
  const view = `${by} ${range} ${sorting}`;
  const isHeld = held.current.view === view &&
    element.current?.matches(":hover, :focus-within") === true;
  const sorted = isHeld ? rows : sortRows(rows, sorting);
  if (!isHeld) held.current = { view, names: sorted.map(({ name }) => name) };
  const placeOf = ({ name }: TrafficRow) => {
    const place = held.current.names.indexOf(name);
    return place < 0 ? Infinity : place;
  };
  return isHeld
    ? rows.toSorted((a, b) => placeOf(a) - placeOf(b) || 0)
    : sorted;
}
