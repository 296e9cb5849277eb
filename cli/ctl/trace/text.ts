import { printable } from "../../output/printable.ts";
import { fit } from "../../tui/columns.ts";
import type { ReceivedEvent } from "./decode_event.ts";
import { formatTime, summarise } from "./summary.ts";

/** An event as one line for people: time since the request began, severity, type, what happened. */
export function textLine(event: ReceivedEvent): string {
  return `${textColumns(event)} ${printable(summarise(event))}`;
}

/** All but the summary, in 39 columns. */
export function textColumns({ eventEnd, severity, type }: ReceivedEvent) {
  const time = formatTime(eventEnd).padStart(9);
  return `${time}  ${severity.padEnd(7)} ${fit(printable(type), 19)}`;
}
