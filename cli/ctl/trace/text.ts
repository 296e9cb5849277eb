import { printable } from "../../output/printable.ts";
import { fit } from "../../output/columns.ts";
import type { ReceivedEvent } from "./decode_event.ts";
import { formatTime, summarize } from "./summary.ts";

/** Formats an event as one line: time since the start of the request, severity, type, summary. */
export function textLine(event: ReceivedEvent): string {
  return `${textColumns(event)} ${printable(summarize(event))}`;
}

/** Formats all columns except the summary, 39 characters wide. */
export function textColumns({ eventEnd, severity, type }: ReceivedEvent) {
  const time = formatTime(eventEnd).padStart(9);
  return `${time}  ${severity.padEnd(7)} ${fit(printable(type), 19)}`;
}
