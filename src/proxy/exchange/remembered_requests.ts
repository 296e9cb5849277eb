import { describeError, GatewayError } from "../../base/errors.ts";
import { REDACTION_MARKER } from "../../base/redaction.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type {
  RecordedCall,
  RecordedRequest,
} from "../../telemetry/failures/recorded_request.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import type { TraceRedactor } from "../../telemetry/trace/trace_redactor.ts";
import type { TraceHeaders } from "../../telemetry/trace/trace_state.ts";
import { pathEnd } from "../../route/normalize_target.ts";
import type { Attempts, FailedAttempt } from "../request/attempts.ts";
import type { Exchange } from "./exchange.ts";
import type { RoutedRequest } from "../request/routed_request.ts";
import { readBackend } from "../trace/request_state.ts";

/** Longer strings are cut, so that the failure memory has a bound in bytes. */
const MAX_TEXT = 1024;
const MAX_CANDIDATES = 16;
const MAX_CALLS = 16;

const shownRequestHeaders = [
  "accept",
  "content-type",
  "content-length",
  "origin",
  "user-agent",
  "mcp-protocol-version",
];

const shownResponseHeaders = [
  "content-type",
  "retry-after",
  "www-authenticate",
  "x-gateway-error",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
];

/** Returns whether a request failed, other than by a client that closed a stream. */
export function hasFailed({ status, error, reason }: FinishedRequest): boolean {
  return status >= 400 || (error !== undefined && reason !== "client_closed");
}

/** Describes a request for the memory of requests. */
export function describeRequest(
  exchange: Exchange,
  finished: FinishedRequest,
  redactor: TraceRedactor,
): RecordedRequest {
  const { request, originalRequest: { target }, response, routed } = exchange;
  redactor.learn(request.headers, target);
  const shown = (headers: HeaderList, names: readonly string[]) =>
    pickHeaders(headers, names, redactor);
  return {
    id: exchange.requestId,
    finished: shorten(finished, redactor),
    scheme: request.scheme,
    query: queryNames(target, redactor),
    requestHeaders: shown(request.headers, shownRequestHeaders),
    responseHeaders: response === undefined
      ? {}
      : shown(response.headers, shownResponseHeaders),
    identities: identitiesOf(exchange),
    route: routed.route?.key,
    backend: routed.backend && readBackend(routed.backend),
    candidates: candidatesOf(routed),
    verdict: exchange.policyRun?.rejection?.verdict,
    calls: callsOf(exchange, redactor),
    passedOver: exchange.passedOver,
    chosenBecause: exchange.chosenBecause,
  };
}

/** Describes a request that was rejected before it could be handled. */
export function describeRejected(
  id: string,
  finished: FinishedRequest,
  redactor: TraceRedactor,
): RecordedRequest {
  return {
    id,
    finished: shorten(finished, redactor),
    scheme: "http",
    query: "",
    requestHeaders: {},
    responseHeaders: {},
    identities: [],
    route: undefined,
    backend: undefined,
    candidates: [],
    verdict: undefined,
    calls: [],
  };
}

/** Returns the keys of the routes that did not match; none when a route was found. */
function candidatesOf(
  { route, listener, hostname }: RoutedRequest,
): readonly string[] {
  if (route !== undefined || listener === undefined) return [];
  const keys = listener.routes.candidates(hostname).take(MAX_CANDIDATES)
    .map(({ key }) => key);
  return [...new Set(keys)];
}

function shorten(
  finished: FinishedRequest,
  redactor: TraceRedactor,
): FinishedRequest {
  const { upstreamRequestId, error, host, path, method, usage } = finished;
  const short = (text: string) => shortText(text, redactor);
  return {
    ...finished,
    upstreamRequestId: upstreamRequestId?.slice(0, MAX_TEXT),
    error: error === undefined ? undefined : short(error),
    usage: usage && {
      ...usage,
      responseModel: usage.responseModel && short(usage.responseModel),
    },
    client: short(finished.client),
    host: short(host),
    path: short(path),
    method: method.slice(0, MAX_TEXT),
  };
}

/** Redacts a string before cutting it: half a secret is not recognized. */
function shortText(text: string, redactor: TraceRedactor): string {
  return redactor.text(text.slice(0, 2 * MAX_TEXT)).slice(0, MAX_TEXT);
}

function queryNames(target: string, redactor: TraceRedactor): string {
  const end = pathEnd(target);
  if (target[end] !== "?") return "";
  const pairs = target.slice(end + 1, end + MAX_TEXT).split("&");
  const names = pairs.map((pair) => {
    const equals = pair.indexOf("=");
    return equals < 0
      ? REDACTION_MARKER
      : `${redactor.text(pair.slice(0, equals))}=${REDACTION_MARKER}`;
  });
  return `?${names.join("&")}`;
}

function pickHeaders(
  headers: HeaderList,
  names: readonly string[],
  redactor: TraceRedactor,
): TraceHeaders {
  const picked: [string, string][] = [];
  for (const name of names) {
    const value = headers.getJoined(name);
    if (value === undefined) continue;
    picked.push([name, redactor.header(name, value).slice(0, MAX_TEXT)]);
  }
  return Object.fromEntries(picked);
}

function identitiesOf(
  { slots, snapshot: { identities } }: Exchange,
): RecordedRequest["identities"] {
  return identities.filter((identity) => slots?.get(identity) !== undefined)
    .map(({ name, holds }) => ({ name, holds }));
}

function callsOf(
  exchange: Exchange,
  redactor: TraceRedactor,
): readonly RecordedCall[] {
  const { attempts, routed, startedAt } = exchange;
  if (attempts?.endedAt === undefined || routed.backend === undefined) {
    return [];
  }
  const last = lastAttempt(exchange, attempts, attempts.endedAt);
  return [...attempts.failed.slice(0, MAX_CALLS), ...last].map((attempt) => ({
    startMs: attempt.startedAt - startedAt,
    endMs: attempt.endedAt - startedAt,
    endpoint: attempt.endpoint,
    ...outcomeOf(attempt, redactor),
  }));
}

function outcomeOf(
  { outcome }: FailedAttempt,
  redactor: TraceRedactor,
): Pick<RecordedCall, "status" | "error"> {
  return outcome instanceof GatewayError
    ? { status: null, error: shortText(describeError(outcome), redactor) }
    : { status: outcome, error: null };
}

/** Returns nothing when time ran out while the gateway waited for the next attempt. */
function lastAttempt(
  { error, response }: Exchange,
  { attemptStartedAt: startedAt, failed, status, target }: Attempts,
  endedAt: number,
): readonly FailedAttempt[] {
  const before = failed.at(-1);
  if (before !== undefined && startedAt < before.endedAt) return [];
  const outcome = status ?? error ?? response?.status;
  if (outcome === undefined) return [];
  return [{ outcome, endpoint: target?.label, startedAt, endedAt }];
}
