import { summarize } from "../ctl/trace/summary.ts";
import { printable } from "../output/printable.ts";
import { fit, widthOf } from "../output/columns.ts";
import { type DetailLine, detailLines } from "./state/detail.ts";
import { eventRows } from "./event_rows.ts";
import { helpRows } from "./help_page.ts";
import { type Layout, layoutOf, type Size, smallest } from "./state/layout.ts";
import { eventsOf, type Model, selectedRequest } from "./state/model.ts";
import { requestRows } from "./request_rows.ts";
import { endOf, hasFailed } from "./state/requests.ts";
import {
  firstVisible,
  highlight,
  type Row,
  type Span,
  type Style,
} from "./style.ts";

/** Renders the model to the rows of the screen. */
export function view(model: Model, size: Size): readonly Row[] {
  if (size.columns < smallest.columns || size.rows < smallest.rows) {
    return tooSmall(size);
  }
  const rows = size.rows - 3;
  return [
    [span(fit(` ${title(model)}`, size.columns), "reversed")],
    ...model.isHelpOpen ? helpRows({ ...size, rows }) : page(model, size),
    [statusSpan(model, size.columns)],
    [span(fit(helpText(model), size.columns), "faint")],
  ];
}

function tooSmall({ columns, rows }: Size): readonly Row[] {
  const text = `requires ${smallest.columns}x${smallest.rows}; q quits`;
  return Array.from(
    { length: rows },
    (_, row) => row === 0 ? [span(fit(text, columns), "plain")] : [],
  );
}

function title({ title, droppedRequests, droppedEvents }: Model): string {
  const dropped = [
    droppedRequests === 0 ? [] : [`${droppedRequests} older requests`],
    droppedEvents === 0 ? [] : [`${droppedEvents} older events`],
  ].flat().join(", ");
  const note = dropped === "" ? "" : ` (${dropped} dropped)`;
  return `trace of ${printable(title)}${note}`;
}

function page(model: Model, size: Size): readonly Row[] {
  const layout = layoutOf(size);
  const { requests, request, selected, focus } = model;
  if (model.page === "requests") {
    const name = `Requests${position(request, requests.length)}`;
    return [
      [heading(name, true, size.columns)],
      ...requestRows(model, layout.list),
    ];
  }
  const name = `Events${position(selected, eventsOf(model).length)}`;
  const events = [
    [heading(name, focus === "events", layout.events.width)],
    ...eventRows(model, layout.events),
  ];
  const detail = [...detailRows(model, layout)];
  return layout.isWide
    ? events.map((row, index) => beside(row, detail[index] ?? [], layout))
    : [...events, ...detail];
}

function position(index: number, length: number): string {
  return length === 0 ? "" : ` ${index + 1}/${length}`;
}

const modeNames = {
  event: "raw event",
  snapshot: "snapshot",
  diff: "diff to the previous snapshot",
} as const;

function* detailRows(model: Model, { detail: pane }: Layout): Generator<Row> {
  const { focus, mode, format, detailLine, query } = model;
  const lines = detailLines({ ...model, events: eventsOf(model) }, pane.width);
  const at = Math.min(detailLine, Math.max(lines.length - 1, 0));
  const top = firstVisible(lines.length, at, pane.height);
  const name = `Detail: ${modeNames[mode]}, ${format}${
    position(at, lines.length)
  }`;
  const hasFocus = focus === "detail";
  yield [heading(name, hasFocus, pane.width)];
  for (let row = 0; row < pane.height; row++) {
    const line = lines[top + row];
    if (line === undefined) yield [];
    else {
      const style = detailStyles[line.kind];
      const isSelected = hasFocus && top + row === at;
      const text = isSelected ? fit(line.text, pane.width) : line.text;
      yield highlight(text, { style, query, isSelected });
    }
  }
}

const detailStyles: Readonly<Record<DetailLine["kind"], Style>> = {
  plain: "plain",
  heading: "strong",
  added: "success",
  removed: "error",
};

function heading(text: string, hasFocus: boolean, width: number): Span {
  const rule = `${hasFocus ? "▶" : "─"} ${text} `;
  const rest = "─".repeat(Math.max(width - widthOf(rule), 0));
  return span(fit(rule + rest, width), hasFocus ? "strong" : "faint");
}

function beside(left: Row, right: Row, { detail }: Layout): Row {
  const [first, ...rest] = right;
  const divider = { ...span("│ ", "faint"), at: detail.left - 2 };
  return [
    ...left,
    divider,
    ...(first === undefined ? [] : [{ ...first, at: detail.left }, ...rest]),
  ];
}

function statusSpan(model: Model, columns: number): Span {
  const { prompt, notice, stream } = model;
  if (prompt !== undefined) {
    const mark = prompt.kind === "search" ? "search: " : ":";
    return span(fit(`${mark}${printable(prompt.text)}_`, columns), "strong");
  }
  if (notice !== "") return span(fit(printable(notice), columns), "warn");
  const request = selectedRequest(model);
  const isList = model.page === "requests";
  const isBad = stream.kind === "lost" ||
    (!isList && request !== undefined && hasFailed(request));
  const text = isList ? listStatus(model) : requestStatus(model);
  return span(fit(printable(text), columns), isBad ? "error" : "plain");
}

function listStatus({ requests, stream }: Model): string {
  if (requests.length === 0 && stream.kind === "waiting") return stream.text;
  const failed = requests.filter(hasFailed).length;
  const counts = `${count(requests.length, "request")}, ${failed} failed`;
  switch (stream.kind) {
    case "waiting":
      return `${counts}, live`;
    case "complete":
      return `${counts}, complete`;
    case "lost":
      return `${counts}; ${onOneLine(stream.reason)}`;
  }
}

function requestStatus(model: Model): string {
  const { stream, requests } = model;
  const request = selectedRequest(model);
  if (request === undefined && stream.kind === "waiting") return stream.text;
  const end = request === undefined ? undefined : endOf(request);
  const events = count(request?.events.length ?? 0, "event");
  const place = requests.length < 2 ? "" : `request ${request?.number}: `;
  const outcome = end === undefined ? "" : ` · ${summarize(end)}`;
  if (stream.kind === "lost") {
    return `${place}${events}; ${onOneLine(stream.reason)}${outcome}`;
  }
  const isComplete = end !== undefined || stream.kind === "complete";
  const state = isComplete ? "complete" : "in progress";
  return `${place}${events}, ${state}${outcome}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function onOneLine(text: string): string {
  return text.replaceAll("\n", " ");
}

function helpText({ prompt, format, page, isHelpOpen }: Model): string {
  if (prompt?.kind === "search") return "enter search  esc cancel";
  if (prompt !== undefined) return "enter run  tab complete  esc cancel";
  if (isHelpOpen) return "any key closes";
  if (page === "requests") {
    return "q quit  enter open  jkgG move  / find  n next  w save  : command  ? help";
  }
  const other = format === "yaml" ? "JSON" : "YAML";
  return `q quit  tab pane  e raw  s snapshot  d diff  f ${other}  / find  n next  ? help`;
}

function span(text: string, style: Style): Span {
  return { text, style };
}
