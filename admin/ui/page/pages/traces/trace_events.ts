/** Splits traces into requests, and compares snapshots. */
import type { RecordedEvent } from "../../../../../src/telemetry/failures/failure_events.ts";
import {
  type Change,
  diffStates,
} from "../../../../../src/telemetry/trace/reading/diff_states.ts";
import type { RequestState } from "../../../../../src/telemetry/trace/trace_state.ts";

/** A step of a request, whether it was traced or recorded. */
export type TraceEvent = RecordedEvent;

/** A request of a live trace. */
export interface TracedRequest {
  readonly number: number;
  readonly events: readonly TraceEvent[];
  readonly title: string;
  readonly status: number | undefined;
}

/** Returns the state of the request that an event shows. */
export function stateOf({ message }: TraceEvent): RequestState | undefined {
  return "requestState" in message ? message.requestState : undefined;
}

/** Splits a stream of events into requests: returns the requests with one more event. */
export function addEvent(
  requests: readonly TracedRequest[],
  event: TraceEvent,
): readonly TracedRequest[] {
  const { message } = event;
  const last = requests.at(-1);
  const isNew = message.type === "requestStarted" || last === undefined;
  const number = isNew ? requests.length + 1 : last.number;
  const events = isNew ? [event] : [...last.events, event];
  const request = events.map(stateOf).find((state) => state)?.request;
  const line = request === undefined
    ? `Request ${number}`
    : `${request.method} ${request.pathAndQuery}`;
  const status = message.type === "requestFinished"
    ? message.status ?? undefined
    : undefined;
  const title = status === undefined ? line : `${line} → ${status}`;
  return [...isNew ? requests : requests.slice(0, -1), {
    number,
    events,
    title,
    status,
  }];
}

/** Returns the changes of the snapshot at `index` against the previous one; `undefined` when there is none. */
export function differences(
  events: readonly TraceEvent[],
  index: number,
): readonly Change[] | undefined {
  const state = events[index] && stateOf(events[index]);
  const before = events.slice(0, index).findLast(({ message }) =>
    message.type.endsWith("Snapshot") && "requestState" in message
  );
  if (state === undefined || before === undefined) return undefined;
  return diffStates(stateOf(before), state);
}

/** The part of a request's time that an event took, as shares between 0 and 1. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Returns the spans of events in a waterfall; `undefined` for events without a time. */
export function spansOf(
  events: readonly TraceEvent[],
): readonly (Span | undefined)[] {
  const total = Math.max(1, ...events.map(({ eventEnd }) => eventEnd ?? 0));
  return events.map(({ eventStart, eventEnd }) => {
    if (eventEnd === null) return undefined;
    return { from: (eventStart ?? eventEnd) / total, to: eventEnd / total };
  });
}
