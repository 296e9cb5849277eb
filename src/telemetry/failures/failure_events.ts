import { REDACTION_MARKER } from "../../base/redaction.ts";
import type { FailedRequest } from "./failed_request.ts";
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
  failed: FailedRequest,
  rejections: RejectionEvents,
): readonly RecordedEvent[] {
  const end = toMicros(failed.finished.durationMs ?? 0);
  return [
    event({ type: "requestStarted" }, 0),
    event({
      type: "requestSnapshot",
      stage: "initial request",
      requestState: arrivalOf(failed),
    }, 0),
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

function routeEvents(failed: FailedRequest): readonly RecordedEvent[] {
  const { route, candidates, finished: { listener } } = failed;
  if (listener === undefined) return [];
  if (route === undefined && finishedBeforeRoute(failed)) return [];
  return [event({
    type: "routeSelection",
    selectedRoute: route ?? null,
    evaluatedRoutes: route === undefined ? candidates : [route],
  })];
}

function finishedBeforeRoute({ finished }: FailedRequest): boolean {
  return finished.reason !== "route_not_found";
}

function rejectionEvents(
  { verdict, finished }: FailedRequest,
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
  { calls, finished: { endpoint } }: FailedRequest,
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

function stateOf(failed: FailedRequest): RequestState {
  const { backend } = failed;
  return {
    ...arrivalOf(failed),
    ...identitiesOf(failed),
    ...(backend && { backend }),
  };
}

function arrivalOf(failed: FailedRequest): RequestState {
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
function identitiesOf({ identities }: FailedRequest): Partial<RequestState> {
  return Object.fromEntries(
    identities.map(({ name, holds }) => [name, { [holds]: REDACTION_MARKER }]),
  );
}

function toMicros(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}
