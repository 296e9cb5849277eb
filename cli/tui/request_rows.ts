import { formatTime } from "../ctl/trace/summary.ts";
import { printable } from "../output/printable.ts";
import { fit } from "../output/columns.ts";
import type { Pane } from "./state/layout.ts";
import type { Model } from "./state/model.ts";
import {
  durationOf,
  endOf,
  factsOf,
  hasFailed,
  type TracedRequest,
} from "./state/requests.ts";
import { firstVisible, highlight, type Row, type Style } from "./style.ts";
import { timingBar } from "./timing_bar.ts";

/** Renders the list of requests below the names of its columns. */
export function requestRows(model: Model, pane: Pane): readonly Row[] {
  const { requests, request: selected, query } = model;
  const columns = columnsOf(pane.width);
  const top = firstVisible(requests.length, selected, pane.height);
  const shown = requests.slice(top, top + pane.height);
  const longest = Math.max(0, ...shown.map((each) => durationOf(each) ?? 0));
  const names = cells(columns, {
    time: "TIME",
    status: "CODE",
    method: "METHOD",
    duration: "DURATION",
    bar: "",
    target: "HOST AND PATH",
    route: "ROUTE",
    outcome: "OUTCOME",
  });
  const rows = Array.from({ length: pane.height }, (_, row): Row => {
    const request = shown[row];
    if (request === undefined) return [];
    const isSelected = top + row === selected;
    const mark = isSelected ? ">" : " ";
    const text = mark + cells(columns, cellsOf(request, longest, columns.bar));
    const style = styleOf(request);
    return highlight(text, { style, query, isSelected });
  });
  return [[{ text: ` ${names}`, style: "faint" }], ...rows];
}

/** Widths of the columns, in their order; those without room have 0. */
interface Columns {
  readonly time: number;
  readonly status: number;
  readonly method: number;
  readonly duration: number;
  readonly bar: number;
  readonly target: number;
  readonly route: number;
  readonly outcome: number;
}

const names = [
  "time",
  "status",
  "method",
  "duration",
  "bar",
  "target",
  "route",
  "outcome",
] as const satisfies readonly (keyof Columns)[];

function columnsOf(width: number): Columns {
  const isWide = width >= 132;
  const time = width < 60 ? 0 : 8;
  const bar = width < 72 ? 0 : isWide ? 16 : 8;
  const fixed = { time, status: 4, method: 7, duration: 9, bar };
  // The mark, and a blank after each column.
  const used = Object.values(fixed)
    .reduce((sum, columns) => sum + (columns === 0 ? 0 : columns + 1), 1);
  const rest = width - used;
  if (!isWide) return { ...fixed, target: rest, route: 0, outcome: 0 };
  const route = 28;
  const outcome = Math.floor((rest - route) * 0.4);
  const target = rest - route - outcome - 2;
  return { ...fixed, target, route, outcome };
}

function cells(
  columns: Columns,
  texts: Readonly<Record<keyof Columns, string>>,
): string {
  return names.filter((name) => columns[name] > 0)
    .map((name) => fit(texts[name], columns[name])).join(" ");
}

function cellsOf(
  request: TracedRequest,
  longest: number,
  barColumns: number,
): Readonly<Record<keyof Columns, string>> {
  const { time, status, method, host, path, route, outcome } = factsOf(request);
  const end = durationOf(request);
  const duration = formatTime(end).padStart(9);
  const bar = timingBar({ start: 0, end, total: longest }, barColumns);
  return {
    time,
    status,
    method: printable(method),
    duration,
    bar,
    target: printable(host + path),
    route: printable(route),
    outcome: printable(outcome),
  };
}

function styleOf(request: TracedRequest): Style {
  const end = endOf(request)?.message;
  if (end?.type !== "requestFinished") return "faint";
  if (!hasFailed(request)) return "plain";
  return (end.status ?? 500) >= 500 ? "error" : "warn";
}
