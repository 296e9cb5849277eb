import type { ReceivedEvent } from "../ctl/trace/decode_event.ts";
import { summarize } from "../ctl/trace/summary.ts";
import { textColumns } from "../ctl/trace/text.ts";
import { type DetailLine, detailLines } from "./detail.ts";
import { type Layout, layoutOf, type Size, smallest } from "./layout.ts";
import { endOfSelected, hasFailed, type Model } from "./model.ts";
import { printable } from "../output/printable.ts";
import { fit, widthOf } from "./columns.ts";
import type { Row, Span, Style } from "./style.ts";

/** Renders the model to the rows of the screen. */
export function view(model: Model, size: Size): readonly Row[] {
  if (size.columns < smallest.columns || size.rows < smallest.rows) {
    return tooSmall(size);
  }
  const layout = layoutOf(size);
  const events = [eventsHeading(model, layout), ...eventRows(model, layout)];
  const detail = [...detailRows(model, layout)];
  const panes = layout.isWide
    ? events.map((row, index) => beside(row, detail[index] ?? [], layout))
    : [...events, ...detail];
  return [
    [span(fit(` ${title(model)}`, size.columns), "reversed")],
    ...panes,
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

function title({ title, dropped }: Model): string {
  const note = dropped === 0 ? "" : ` (${dropped} older events dropped)`;
  return `trace of ${printable(title)}${note}`;
}

function eventsHeading(
  { focus, events, selected }: Model,
  layout: Layout,
): Row {
  const { width } = layout.events;
  const position = events.length === 0
    ? ""
    : ` ${selected + 1}/${events.length}`;
  return [heading(`Events${position}`, focus === "events", width)];
}

function eventRows(model: Model, { events: pane }: Layout): readonly Row[] {
  const { events, selected } = model;
  // Centers the selected event, except near both ends.
  const lastTop = Math.max(events.length - pane.height, 0);
  const middle = selected - Math.floor(pane.height / 2);
  const top = Math.min(Math.max(middle, 0), lastTop);
  return Array.from({ length: pane.height }, (_, row) => {
    const event = events[top + row];
    if (event === undefined) return [];
    return eventRow(event, top + row === selected, pane.width);
  });
}

function eventRow(
  event: ReceivedEvent,
  isSelected: boolean,
  width: number,
): Row {
  const text = `${isSelected ? ">" : " "}${textColumns(event)} ${
    printable(summarize(event))
  }`;
  return [{ ...span(fit(text, width), event.severity), isSelected }];
}

const modeNames = {
  event: "raw event",
  snapshot: "snapshot",
  diff: "diff to the previous snapshot",
} as const;

function* detailRows(model: Model, { detail: pane }: Layout): Generator<Row> {
  const { focus, mode, format, detailTop, query } = model;
  const lines = detailLines(model, pane.width);
  const top = Math.min(detailTop, Math.max(lines.length - 1, 0));
  const shown = lines.slice(top, top + pane.height);
  const position = lines.length <= pane.height && top === 0
    ? ""
    : ` ${top + 1}-${top + shown.length}/${lines.length}`;
  const name = `Detail: ${modeNames[mode]}, ${format}${position}`;
  yield [heading(name, focus === "detail", pane.width)];
  for (let row = 0; row < pane.height; row++) {
    const line = shown[row];
    yield line === undefined ? [] : detailRow(line, query);
  }
}

const detailStyles: Readonly<Record<DetailLine["kind"], Style>> = {
  plain: "plain",
  heading: "strong",
  added: "success",
  removed: "error",
};

/** Renders a line of the detail pane; reverses matches of the search. */
function detailRow({ kind, text }: DetailLine, query: string): Row {
  const style = detailStyles[kind];
  if (query === "") return [span(text, style)];
  const spans: Span[] = [];
  let from = 0;
  for (const match of text.matchAll(new RegExp(RegExp.escape(query), "giu"))) {
    const [found] = match;
    spans.push(span(text.slice(from, match.index), style));
    spans.push(span(found, "reversed"));
    from = match.index + found.length;
  }
  return [...spans, span(text.slice(from), style)];
}

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
    return span(fit(`search: ${printable(prompt)}_`, columns), "strong");
  }
  if (notice !== "") return span(fit(printable(notice), columns), "warn");
  const end = endOfSelected(model);
  const message = end?.message;
  const failed = message?.type === "requestFinished" && hasFailed(message);
  const outcome = end === undefined ? "" : ` · ${summarize(end)}`;
  const text = printable(statusText(model) + outcome);
  const isBad = stream.kind === "lost" || failed;
  return span(fit(text, columns), isBad ? "error" : "plain");
}

function statusText({ stream, events }: Model): string {
  const { length } = events;
  const count = `${length} ${length === 1 ? "event" : "events"}`;
  switch (stream.kind) {
    case "waiting":
      return length === 0 ? stream.text : `${count}, in progress`;
    case "complete":
      return `${count}, complete`;
    case "lost":
      return `${count}; ${stream.reason.replaceAll("\n", " ")}`;
  }
}

function helpText({ prompt, format }: Model): string {
  if (prompt !== undefined) return "enter search  esc cancel";
  const other = format === "yaml" ? "JSON" : "YAML";
  return `q quit  tab pane  ↑↓ PgUp/Dn  e raw  s snapshot  d diff  f ${other}  / find  n next`;
}

function span(text: string, style: Style): Span {
  return { text, style };
}
