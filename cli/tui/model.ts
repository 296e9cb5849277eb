import type { RequestFinished } from "../../src/telemetry/trace/trace_event.ts";
import type { ReceivedEvent } from "../ctl/trace/decode_event.ts";
import type { DetailFormat, DetailMode } from "./detail.ts";

/** Everything that decides what is on the screen. */
export interface Model {
  /** Where the events come from, such as `gateway/default`. */
  readonly title: string;
  /** The oldest are forgotten when there are too many. */
  readonly events: readonly ReceivedEvent[];
  readonly forgotten: number;
  /** Index of an event; 0 while there is none. */
  readonly selected: number;
  /** The newest event is selected as it comes; where a request failed, its first error. */
  readonly following: boolean;
  readonly focus: "events" | "detail";
  readonly mode: DetailMode;
  readonly format: DetailFormat;
  /** First line of the detail pane that is shown. */
  readonly detailTop: number;
  /** What is being typed after `/`; `undefined` when nothing is. */
  readonly prompt: string | undefined;
  /** What was searched for last. */
  readonly query: string;
  /** An answer to the last key, such as that nothing was found. */
  readonly notice: string;
  readonly stream: StreamState;
  /** The user wants to leave. */
  readonly isDone: boolean;
}

/** How the source of the events is. */
export type StreamState =
  | { readonly kind: "waiting"; readonly text: string }
  | { readonly kind: "complete" }
  | { readonly kind: "lost"; readonly reason: string };

const MAX_EVENTS = 20_000;
const MAX_CHARACTERS = 64 * 1024 * 1024;

/** Before the first event. */
export function initialModel(title: string, waitingText: string): Model {
  return {
    title,
    events: [],
    forgotten: 0,
    selected: 0,
    following: true,
    focus: "events",
    mode: "event",
    format: "yaml",
    detailTop: 0,
    prompt: undefined,
    query: "",
    notice: "",
    stream: { kind: "waiting", text: waitingText },
    isDone: false,
  };
}

/** With events that came since. */
export function addEvents(
  model: Model,
  added: readonly ReceivedEvent[],
): Model {
  const all = [...model.events, ...added];
  const surplus = countSurplus(all);
  const events = surplus === 0 ? all : all.slice(surplus);
  const selected = model.following
    ? mostTelling(events)
    : Math.max(model.selected - surplus, 0);
  const isSame = events[selected] === model.events[model.selected];
  return {
    ...model,
    events,
    forgotten: model.forgotten + surplus,
    selected,
    detailTop: isSame ? model.detailTop : 0,
  };
}

/** What went wrong first when the last request has failed, else the newest event. */
function mostTelling(events: readonly ReceivedEvent[]): number {
  const newest = Math.max(events.length - 1, 0);
  const end = events[newest]?.message;
  if (end?.type !== "requestFinished" || !hasFailed(end)) return newest;
  const start = events.findLastIndex(({ type }) => type === "requestStarted");
  const error = events.findIndex(({ severity }, index) =>
    index > start && severity === "error"
  );
  return error === -1 ? newest : error;
}

/** Whether the request ended with an error of the gateway, or with 4xx or 5xx. */
export function hasFailed({ status, error }: RequestFinished): boolean {
  return typeof error === "string" || (status ?? 500) >= 400;
}

/** How the request of the selected event ended; `undefined` when that is not known yet. */
export function endOfSelected(
  { events, selected }: Model,
): ReceivedEvent | undefined {
  for (let index = selected; index < events.length; index++) {
    const event = events[index];
    if (event?.type === "requestFinished") return event;
    if (index > selected && event?.type === "requestStarted") return undefined;
  }
  return undefined;
}

/** How many of the oldest have to go; the newest never does. */
function countSurplus(events: readonly ReceivedEvent[]): number {
  let characters = 0;
  const kept = events.findLastIndex(({ line }) =>
    (characters += line.length) > MAX_CHARACTERS
  );
  const first = Math.max(kept + 1, events.length - MAX_EVENTS);
  return Math.max(Math.min(first, events.length - 1), 0);
}

/** With another event selected; following again when it is the last. */
export function select(model: Model, index: number): Model {
  const last = Math.max(model.events.length - 1, 0);
  const selected = Math.min(Math.max(index, 0), last);
  return {
    ...model,
    selected,
    following: selected === last,
    detailTop: selected === model.selected ? model.detailTop : 0,
  };
}
