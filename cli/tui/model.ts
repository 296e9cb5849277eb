import type { RequestFinished } from "../../src/telemetry/trace/trace_event.ts";
import type { ReceivedEvent } from "../ctl/trace/decode_event.ts";
import type { DetailFormat, DetailMode } from "./detail.ts";

/** State of the terminal UI. */
export interface Model {
  /** Source of the events, such as `gateway/default`. */
  readonly title: string;
  /** Events; the oldest are dropped when there are too many. */
  readonly events: readonly ReceivedEvent[];
  readonly dropped: number;
  /** Index of the selected event; 0 without events. */
  readonly selected: number;
  /** Selects the newest event automatically; for a failed request, its first error. */
  readonly following: boolean;
  readonly focus: "events" | "detail";
  readonly mode: DetailMode;
  readonly format: DetailFormat;
  /** First visible line of the detail pane. */
  readonly detailTop: number;
  /** Search input after `/`; `undefined` without one. */
  readonly prompt: string | undefined;
  /** Last search. */
  readonly query: string;
  /** Message about the last key, such as "not found". */
  readonly notice: string;
  readonly stream: StreamState;
  /** The user has quit. */
  readonly isDone: boolean;
}

/** State of the event stream. */
export type StreamState =
  | { readonly kind: "waiting"; readonly text: string }
  | { readonly kind: "complete" }
  | { readonly kind: "lost"; readonly reason: string };

const MAX_EVENTS = 20_000;
const MAX_CHARACTERS = 64 * 1024 * 1024;

/** Creates the model before the first event. */
export function initialModel(title: string, waitingText: string): Model {
  return {
    title,
    events: [],
    dropped: 0,
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

/** Adds events. */
export function addEvents(
  model: Model,
  added: readonly ReceivedEvent[],
): Model {
  const all = [...model.events, ...added];
  const surplus = countSurplus(all);
  const events = surplus === 0 ? all : all.slice(surplus);
  const selected = model.following
    ? mostRelevant(events)
    : Math.max(model.selected - surplus, 0);
  const isSame = events[selected] === model.events[model.selected];
  return {
    ...model,
    events,
    dropped: model.dropped + surplus,
    selected,
    detailTop: isSame ? model.detailTop : 0,
  };
}

/** Returns the first error of the last request if it failed, else the newest event. */
function mostRelevant(events: readonly ReceivedEvent[]): number {
  const newest = Math.max(events.length - 1, 0);
  const end = events[newest]?.message;
  if (end?.type !== "requestFinished" || !hasFailed(end)) return newest;
  const start = events.findLastIndex(({ type }) => type === "requestStarted");
  const error = events.findIndex(({ severity }, index) =>
    index > start && severity === "error"
  );
  return error === -1 ? newest : error;
}

/** Reports whether a request ended with an error of the gateway, or with 4xx or 5xx. */
export function hasFailed({ status, error }: RequestFinished): boolean {
  return typeof error === "string" || (status ?? 500) >= 400;
}

/** Returns the last event of the selected event's request; `undefined` while it is in progress. */
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

/** Returns how many of the oldest events to drop; keeps at least the newest. */
function countSurplus(events: readonly ReceivedEvent[]): number {
  let characters = 0;
  const kept = events.findLastIndex(({ line }) =>
    (characters += line.length) > MAX_CHARACTERS
  );
  const first = Math.max(kept + 1, events.length - MAX_EVENTS);
  return Math.max(Math.min(first, events.length - 1), 0);
}

/** Selects an event; selecting the last one resumes following. */
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
