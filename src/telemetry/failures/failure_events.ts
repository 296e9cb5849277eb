import { REDACTION_MARKER } from "../../base/redaction.ts";
import type { RecordedRequest } from "./recorded_request.ts";
import type { TraceEvent, TraceMessage } from "../trace/trace_event.ts";
import { severityOf } from "../trace/trace_severity.ts";
import { describeArrival, type RequestState } from "../trace/trace_state.ts";

/** `kind` of the policy event by reason of a rejection; `undefined` for policies that report with events of their own. */
export type RejectionEvents = ReadonlyMap<
  string,
  { readonly event?: string | undefined }
>;

/** A step of a request that was not traced; `eventEnd` is null where the time was not recorded. */
export type RecordedEvent = Omit<TraceEvent, "eventEnd"> & {
  readonly eventEnd: number | null;
};

/** Reconstructs the trace of a request that was not traced, as far as it was recorded. */
export function failureEvents(
  failed: RecordedRequest,
  rejections: RejectionEvents,
): readonly RecordedEvent[] {
  const { durationMs } = failed.finished;
  // Of a request that could not be read, no time is known.
  const [start, end] = durationMs === undefined
    ? [null, null]
    : [0, toMicros(durationMs)];
  return [
    event({ type: "requestStarted" }, start),
    event({
      type: "requestSnapshot",
      stage: "initial request",
      requestState: arrivalOf(failed),
    }, start),
    ...routeEvents(failed),
    ...rejectionEvents(failed, rejections),
    ...callEvents(failed),
    event({
      type: "responseSnapshot",
      stage: "final response",
      requestState: {
        ...stateOf(failed),
        response: {
          code: failed.finished.status,
          headers: failed.responseHeaders,
        },
      },
    }, end),
    event({
      type: "requestFinished",
      status: failed.finished.status,
      error: failed.finished.error ?? null,
      reason: failed.finished.reason,
    }, end),
  ];
}

function event(
  message: TraceMessage,
  eventEnd: number | null = null,
  eventStart: number | null = null,
): RecordedEvent {
  return { eventStart, eventEnd, severity: severityOf(message), message };
}

function routeEvents(failed: RecordedRequest): readonly RecordedEvent[] {
  const { route, candidates, finished: { listener } } = failed;
  if (listener === undefined) return [];
  if (route === undefined && finishedBeforeRoute(failed)) return [];
  return [event({
    type: "routeSelection",
    selectedRoute: route ?? null,
    evaluatedRoutes: route === undefined ? candidates : [route],
  })];
}

function finishedBeforeRoute({ finished }: RecordedRequest): boolean {
  return finished.reason !== "route_not_found";
}

function rejectionEvents(
  { verdict, finished }: RecordedRequest,
  rejections: RejectionEvents,
): readonly RecordedEvent[] {
  if (verdict !== undefined) return [event(verdict)];
  const kind = rejections.get(finished.reason)?.event;
  if (kind === undefined) return [];
  const { status, error: reason = "" } = finished;
  const result = { type: "reject", status, reason } as const;
  return [event({ type: "policy", kind, result })];
}

function callEvents(
  { calls, finished: { endpoint } }: RecordedRequest,
): readonly RecordedEvent[] {
  if (endpoint === undefined) return [];
  return calls.flatMap(({ status, error, startMs, endMs, endpoint: tried }) => {
    const [start, end] = [toMicros(startMs), toMicros(endMs)];
    return [
      event({ type: "backendCallStart", target: tried ?? endpoint }, start),
      event({ type: "backendCallResult", status, error }, end, start),
    ];
  });
}

function stateOf(failed: RecordedRequest): RequestState {
  const { backend } = failed;
  return {
    ...arrivalOf(failed),
    ...identitiesOf(failed),
    ...(backend && { backend }),
  };
}

function arrivalOf(failed: RecordedRequest): RequestState {
  const { finished, scheme, query, requestHeaders } = failed;
  const { method, host, path, version, gateway, source, time } = finished;
  const colon = source.lastIndexOf(":");
  return {
    ...describeArrival({
      method,
      scheme,
      authority: host,
      path,
      query,
      version,
      headers: requestHeaders,
      acceptedAt: time,
      source: {
        address: source.slice(0, colon),
        port: Number(source.slice(colon + 1)),
      },
    }),
    env: gateway === undefined ? {} : { gateway },
  };
}

/** Returns the identities without their claims. */
function identitiesOf({ identities }: RecordedRequest): Partial<RequestState> {
  return Object.fromEntries(
    identities.map(({ name, holds }) => [name, { [holds]: REDACTION_MARKER }]),
  );
}

function toMicros(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}
