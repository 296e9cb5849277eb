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
  const top = firstVisible(requests.length, selected, pane.height);
  const shown = requests.slice(top, top + pane.height);
  const longest = Math.max(0, ...shown.map((each) => durationOf(each) ?? 0));
  const columns = columnsOf(pane.width, longest);
  const names = columns.map(([name, width]) => fit(name, width)).join(" ");
  const rows = Array.from({ length: pane.height }, (_, row): Row => {
    const request = shown[row];
    if (request === undefined) return [];
    const isSelected = top + row === selected;
    const facts = factsOf(request);
    const cells = columns.map(([, width, cell]) =>
      fit(cell(facts, durationOf(request)), width)
    );
    const text = (isSelected ? ">" : " ") + cells.join(" ");
    return highlight(text, { style: styleOf(request), query, isSelected });
  });
  return [[{ text: ` ${names}`, style: "faint" }], ...rows];
}

type Column = readonly [
  name: string,
  width: number,
  cell: (facts: ReturnType<typeof factsOf>, duration: number | null) => string,
];

/** Returns the columns for which there is room. @param longest Duration for which a bar has its full width. */
function columnsOf(width: number, longest: number): readonly Column[] {
  const isWide = width >= 132;
  const bar = width < 72 ? 0 : isWide ? 16 : 8;
  const fixed: readonly Column[] = [
    ["TIME", width < 60 ? 0 : 8, ({ time }) => time],
    ["CODE", 4, ({ status }) => status],
    ["METHOD", 7, ({ method }) => printable(method)],
    ["DURATION", 9, (_, end) => formatTime(end).padStart(9)],
    ["", bar, (_, end) => timingBar({ start: 0, end, total: longest }, bar)],
  ];
  // The mark, and a blank after each column.
  const rest = fixed.reduce(
    (left, [, columns]) => left - (columns === 0 ? 0 : columns + 1),
    width - 1,
  );
  const route = isWide ? 28 : 0;
  const outcome = isWide ? Math.floor((rest - route) * 0.4) : 0;
  const target = isWide ? rest - route - outcome - 2 : rest;
  const all: readonly Column[] = [
    ...fixed,
    ["HOST AND PATH", target, ({ host, path }) => printable(host + path)],
    ["ROUTE", route, (facts) => printable(facts.route)],
    ["OUTCOME", outcome, (facts) => printable(facts.outcome)],
  ];
  return all.filter(([, columns]) => columns > 0);
}

function styleOf(request: TracedRequest): Style {
  const end = endOf(request)?.message;
  if (end?.type !== "requestFinished") return "faint";
  if (!hasFailed(request)) return "plain";
  return (end.status ?? 500) >= 500 ? "error" : "warn";
}
