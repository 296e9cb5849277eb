import type { ReceivedEvent } from "../ctl/trace/decode_event.ts";
import { summarize } from "../ctl/trace/summary.ts";
import { textColumns } from "../ctl/trace/text.ts";
import { printable } from "../output/printable.ts";
import { fit } from "../output/columns.ts";
import type { Pane } from "./state/layout.ts";
import { type Model, selectedRequest } from "./state/model.ts";
import { durationOf } from "./state/requests.ts";
import { firstVisible, highlight, type Row } from "./style.ts";
import { timingBar } from "./timing_bar.ts";

/** Renders the events of the selected request, each with its place in time. */
export function eventRows(model: Model, pane: Pane): readonly Row[] {
  const request = selectedRequest(model);
  const events = request?.events ?? [];
  const total = request === undefined ? null : durationOf(request);
  const top = firstVisible(events.length, model.selected, pane.height);
  return Array.from({ length: pane.height }, (_, row) => {
    const event = events[top + row];
    if (event === undefined) return [];
    const isSelected = top + row === model.selected;
    return eventRow(event, { isSelected, total, pane, query: model.query });
  });
}

function eventRow(
  event: ReceivedEvent,
  { isSelected, total, pane, query }: {
    readonly isSelected: boolean;
    readonly total: number | null;
    readonly pane: Pane;
    readonly query: string;
  },
): Row {
  const { eventStart: start, eventEnd: end, severity } = event;
  const columns = barColumns(pane.width);
  const bar = columns === 0
    ? ""
    : ` ${timingBar({ start, end, total }, columns)}`;
  const summary = printable(summarize(event));
  const mark = isSelected ? ">" : " ";
  const text = fit(
    `${mark}${textColumns(event)}${bar} ${summary}`,
    pane.width,
  );
  return highlight(text, { style: severity, query, isSelected });
}

/** Narrow screens need the columns for the summary. */
function barColumns(width: number): number {
  return width < 100 ? 0 : 20;
}
