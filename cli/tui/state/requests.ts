import type { RequestFinished } from "../../../src/telemetry/trace/trace_event.ts";
import type { ReceivedEvent } from "../../ctl/trace/decode_event.ts";

/** The events of one request. */
export interface TracedRequest {
  /** Position among all requests, from 1. */
  readonly number: number;
  /** See `ReceivedEvent.lane`. */
  readonly lane: number;
  readonly events: readonly ReceivedEvent[];
  /** Length of the lines of all events. */
  readonly characters: number;
}

/** Requests, and how many of the oldest were dropped. */
export interface RequestList {
  readonly requests: readonly TracedRequest[];
  readonly droppedRequests: number;
  readonly droppedEvents: number;
}

const MAX_REQUESTS = 5000;
const MAX_EVENTS = 20_000;
const MAX_CHARACTERS = 64 * 1024 * 1024;

/** Adds events to their requests; drops the oldest when there are too many, but never the newest event. */
export function groupEvents(
  known: readonly TracedRequest[],
  added: readonly ReceivedEvent[],
): RequestList {
  const requests = [...known];
  const open = new Map(requests.map(({ lane }, index) => [lane, index]));
  const batches = new Map<number, ReceivedEvent[]>();
  for (const event of added) {
    const { lane = 0 } = event;
    let index = open.get(lane);
    if (index === undefined || event.type === "requestStarted") {
      const number = (requests.at(-1)?.number ?? 0) + 1;
      index = requests.push({ number, lane, events: [], characters: 0 }) - 1;
      open.set(lane, index);
    }
    const batch = batches.get(index);
    if (batch === undefined) batches.set(index, [event]);
    else batch.push(event);
  }
  for (const [index, batch] of batches) {
    const request = requests[index];
    if (request !== undefined) requests[index] = extend(request, batch);
  }
  return bound(requests);
}

function extend(
  request: TracedRequest,
  batch: readonly ReceivedEvent[],
): TracedRequest {
  return {
    ...request,
    events: [...request.events, ...batch],
    characters: request.characters + lengthOf(batch),
  };
}

function bound(requests: readonly TracedRequest[]): RequestList {
  let events = 0;
  let characters = 0;
  for (const request of requests) {
    events += request.events.length;
    characters += request.characters;
  }
  let first = 0;
  const isTooMuch = () =>
    requests.length - first > MAX_REQUESTS || events > MAX_EVENTS ||
    characters > MAX_CHARACTERS;
  for (; first < requests.length - 1 && isTooMuch(); first++) {
    events -= requests[first]?.events.length ?? 0;
    characters -= requests[first]?.characters ?? 0;
  }
  const [oldest, ...rest] = requests.slice(first);
  if (oldest === undefined || !isTooMuch()) {
    const kept = first === 0 ? requests : requests.slice(first);
    return { requests: kept, droppedRequests: first, droppedEvents: 0 };
  }
  const trimmed = trim(oldest);
  return {
    requests: [trimmed, ...rest],
    droppedRequests: first,
    droppedEvents: oldest.events.length - trimmed.events.length,
  };
}

/** Drops the oldest events of the only request. */
function trim(request: TracedRequest): TracedRequest {
  let characters = 0;
  const tooOld = request.events.findLastIndex(({ line }) =>
    (characters += line.length) > MAX_CHARACTERS
  );
  const { length } = request.events;
  const first = Math.min(
    Math.max(tooOld + 1, length - MAX_EVENTS),
    length - 1,
  );
  const events = request.events.slice(first);
  return { ...request, events, characters: lengthOf(events) };
}

function lengthOf(events: readonly ReceivedEvent[]): number {
  return events.reduce((sum, { line }) => sum + line.length, 0);
}

/** Returns the end of a request; `undefined` while it is in progress. */
export function endOf({ events }: TracedRequest): ReceivedEvent | undefined {
  const last = events.at(-1);
  return last?.type === "requestFinished" ? last : undefined;
}

/** Reports whether a request ended with an error of the gateway, or with 4xx or 5xx. */
export function hasFailed(request: TracedRequest): boolean {
  const message = endOf(request)?.message;
  return message?.type === "requestFinished" && isFailure(message);
}

function isFailure({ status, error }: RequestFinished): boolean {
  return typeof error === "string" || (status ?? 500) >= 400;
}

/** Returns the index of the first error of a request that failed, else that of the newest event. */
export function mostRelevant(request: TracedRequest): number {
  const newest = Math.max(request.events.length - 1, 0);
  if (!hasFailed(request)) return newest;
  const error = request.events.findIndex(({ severity }) =>
    severity === "error"
  );
  return error === -1 ? newest : error;
}

/** Returns the time of the last event in microseconds; `null` if none was recorded. */
export function durationOf({ events }: TracedRequest): number | null {
  return events.findLast(({ eventEnd }) => eventEnd !== null)?.eventEnd ?? null;
}

/** Facts about a request for one row of the list. */
export interface RequestFacts {
  /** Time of day such as `08:30:15`; empty if unknown. */
  readonly time: string;
  readonly status: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly route: string;
  /** Error or reason, unless the upstream responded. */
  readonly outcome: string;
}

/** Collects the facts about a request; unknown ones are empty. */
export function factsOf(request: TracedRequest): RequestFacts {
  const facts = { time: "", method: "", host: "", path: "", route: "" };
  for (const { message } of request.events) {
    if (message?.type === "requestSnapshot" && facts.method === "") {
      const { startTime, method, host, pathAndQuery } =
        message.requestState.request;
      const time = /T([0-9:]{8})/.exec(startTime)?.[1] ?? "";
      Object.assign(facts, { time, method, host, path: pathAndQuery });
    }
    if (message?.type === "routeSelection") {
      facts.route = message.selectedRoute ?? "";
    }
  }
  const end = endOf(request)?.message;
  if (end?.type !== "requestFinished") {
    return { ...facts, status: "…", outcome: "" };
  }
  const why = end.error ?? end.reason ?? "";
  const status = String(end.status ?? "–");
  return { ...facts, status, outcome: why === "upstream" ? "" : why };
}
