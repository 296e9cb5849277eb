import type { ReceivedEvent } from "../../ctl/trace/decode_event.ts";
import type { DetailFormat, DetailMode } from "./detail.ts";
import { groupEvents, mostRelevant, type TracedRequest } from "./requests.ts";

/** State of the terminal UI. */
export interface Model {
  /** Source of the events, such as `gateway/default`. */
  readonly title: string;
  /** Requests; the oldest are dropped when there are too many. */
  readonly requests: readonly TracedRequest[];
  readonly droppedRequests: number;
  readonly droppedEvents: number;
  readonly page: "requests" | "events";
  /** Index of the selected request; 0 without requests. */
  readonly request: number;
  /** Selects the newest request automatically. */
  readonly followsRequests: boolean;
  /** Shows the events of the next request as soon as it arrives. */
  readonly opensNext: boolean;
  /** Index of the selected event; 0 without events. */
  readonly selected: number;
  /** Selects the newest event automatically; for a failed request, its first error. */
  readonly following: boolean;
  readonly focus: "events" | "detail";
  readonly mode: DetailMode;
  readonly format: DetailFormat;
  /** Line of the cursor in the detail pane. */
  readonly detailLine: number;
  /** Input after `/` or `:`; `undefined` without one. */
  readonly prompt: Prompt | undefined;
  /** Last search. */
  readonly query: string;
  /** Message about the last key, such as "not found". */
  readonly notice: string;
  readonly isHelpOpen: boolean;
  readonly stream: StreamState;
  /** The user has pressed a key: the page no longer changes by itself. */
  readonly isTouched: boolean;
  /** The user has quit. */
  readonly isDone: boolean;
  /** Work for the session, in order. */
  readonly effects: readonly Effect[];
}

/** Input on the last line but one. */
export interface Prompt {
  readonly kind: "search" | "command";
  readonly text: string;
}

/** Work outside the model. */
export type Effect =
  | { readonly kind: "copy"; readonly text: string; readonly name: string }
  | { readonly kind: "save"; readonly file: string; readonly text: string }
  | { readonly kind: "repeat" };

/** State of the event stream. */
export type StreamState =
  | { readonly kind: "waiting"; readonly text: string }
  | { readonly kind: "complete" }
  | { readonly kind: "lost"; readonly reason: string };

/** Creates the model before the first event. */
export function initialModel(
  title: string,
  waitingText: string,
  page: Model["page"] = "events",
): Model {
  return {
    title,
    requests: [],
    droppedRequests: 0,
    droppedEvents: 0,
    page,
    request: 0,
    followsRequests: true,
    opensNext: false,
    selected: 0,
    following: true,
    focus: "events",
    mode: "event",
    format: "yaml",
    detailLine: 0,
    prompt: undefined,
    query: "",
    notice: "",
    isHelpOpen: false,
    stream: { kind: "waiting", text: waitingText },
    isTouched: false,
    isDone: false,
    effects: [],
  };
}

/** Returns the selected request. */
export function selectedRequest(
  { requests, request }: Model,
): TracedRequest | undefined {
  return requests[request];
}

/** Returns the events of the selected request. */
export function eventsOf(model: Model): readonly ReceivedEvent[] {
  return selectedRequest(model)?.events ?? [];
}

/** Adds events. */
export function addEvents(
  model: Model,
  added: readonly ReceivedEvent[],
): Model {
  const { requests, droppedRequests, droppedEvents } = groupEvents(
    model.requests,
    added,
  );
  const grown = {
    ...model,
    requests,
    droppedRequests: model.droppedRequests + droppedRequests,
    droppedEvents: model.droppedEvents + droppedEvents,
  };
  const before = selectedRequest(model)?.number;
  const at = requests.findIndex(({ number }) => number === before);
  const last = Math.max(requests.length - 1, 0);
  const newest = requests[last]?.number ?? 0;
  const hasNew = newest > (model.requests.at(-1)?.number ?? 0);
  if (model.opensNext && hasNew) return openRequest(grown, last);
  if (model.page === "requests") {
    const isBehind = !model.followsRequests && at >= 0;
    return { ...grown, request: isBehind ? at : last };
  }
  // The open request was dropped, or there are several before the user has chosen one.
  const isLost = before !== undefined && at < 0;
  if (isLost || (requests.length > 1 && !model.isTouched)) {
    return { ...grown, page: "requests", request: last };
  }
  return followEvents(model, { ...grown, request: Math.max(at, 0) });
}

function followEvents(before: Model, model: Model): Model {
  const request = selectedRequest(model);
  if (request === undefined) return model;
  const surplus = model.droppedEvents - before.droppedEvents;
  const selected = model.following
    ? mostRelevant(request)
    : Math.max(model.selected - surplus, 0);
  const isSame = request.events[selected] === eventsOf(before)[before.selected];
  return { ...model, selected, detailLine: isSame ? model.detailLine : 0 };
}

/** Selects a request of the list; selecting the last one resumes following. */
export function selectRequest(model: Model, index: number): Model {
  const last = Math.max(model.requests.length - 1, 0);
  const request = Math.min(Math.max(index, 0), last);
  return { ...model, request, followsRequests: request === last };
}

/** Shows the events of a request. */
export function openRequest(model: Model, index: number): Model {
  const chosen = selectRequest(model, index);
  const request = selectedRequest(chosen);
  if (request === undefined) return chosen;
  return {
    ...chosen,
    page: "events",
    opensNext: false,
    selected: mostRelevant(request),
    following: true,
    focus: "events",
    detailLine: 0,
  };
}

/** Selects an event; selecting the last one resumes following. */
export function select(model: Model, index: number): Model {
  const last = Math.max(eventsOf(model).length - 1, 0);
  const selected = Math.min(Math.max(index, 0), last);
  return {
    ...model,
    selected,
    following: selected === last,
    detailLine: selected === model.selected ? model.detailLine : 0,
  };
}
