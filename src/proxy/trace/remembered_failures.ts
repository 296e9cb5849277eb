import { describeError, GatewayError } from "../../base/errors.ts";
import { REDACTION_MARKER } from "../../base/redaction.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type {
  FailedCall,
  FailedRequest,
} from "../../telemetry/failures/failed_request.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import type { TraceRedactor } from "../../telemetry/trace/trace_redactor.ts";
import type { TraceHeaders } from "../../telemetry/trace/trace_state.ts";
import { identities } from "../../policy/authentication/request_identity.ts";
import { pathEnd } from "../../route/normalize_target.ts";
import type { Exchange, FailedTry } from "../exchange.ts";
import { readBackend } from "./request_state.ts";

/** Longer texts are cut, so that a memory of failures has a bound in bytes. */
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

/** Whether a request is worth remembering: it failed, and not because the client of a stream had enough. */
export function hasFailed({ status, error, reason }: FinishedRequest): boolean {
  return status >= 400 || (error !== undefined && reason !== "client_closed");
}

/** What to remember of a request that failed. */
export function describeFailure(
  exchange: Exchange,
  finished: FinishedRequest,
  redactor: TraceRedactor,
): FailedRequest {
  const { request, asked, response, route } = exchange;
  redactor.learn(request.headers, asked.target);
  const shown = (headers: HeaderList, names: readonly string[]) =>
    pickHeaders(headers, names, redactor);
  return {
    id: exchange.requestId,
    finished: shorten(finished, redactor),
    scheme: request.scheme,
    query: queryNames(asked.target, redactor),
    requestHeaders: shown(request.headers, shownRequestHeaders),
    responseHeaders: shown(response.headers, shownResponseHeaders),
    identities: identitiesOf(exchange),
    route: route?.key,
    backend: exchange.backend && readBackend(exchange.backend),
    candidates: candidatesOf(exchange),
    verdict: exchange.refusal?.verdict,
    calls: callsOf(exchange, redactor),
  };
}

/** What to remember of something that was refused before it was a request. */
export function describeRefused(
  id: string,
  finished: FinishedRequest,
  redactor: TraceRedactor,
): FailedRequest {
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

/** Empty when a route was found. */
function candidatesOf(
  { route, listener, hostname }: Exchange,
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
  const { answerId, error, host, path, method } = finished;
  const short = (text: string) => shortText(text, redactor);
  return {
    ...finished,
    answerId: answerId?.slice(0, MAX_TEXT),
    error: error === undefined ? undefined : short(error),
    host: short(host),
    path: short(path),
    method: method.slice(0, MAX_TEXT),
  };
}

/** Redacted before it is cut: half a secret is not known as one. */
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

function identitiesOf({ slots }: Exchange): readonly string[] {
  return identities.filter((slot) => slots.get(slot) !== undefined)
    .map(({ name }) => name);
}

function callsOf(
  exchange: Exchange,
  redactor: TraceRedactor,
): readonly FailedCall[] {
  const { failedTries, upstreamMs, backend } = exchange;
  if (upstreamMs === undefined || backend === undefined) return [];
  return [...failedTries.slice(0, MAX_CALLS), ...lastTry(exchange)].map(
    ({ outcome, startedAt, endedAt }) => ({
      startMs: startedAt - exchange.startedAt,
      endMs: endedAt - exchange.startedAt,
      ...(outcome instanceof GatewayError
        ? { status: null, error: shortText(describeError(outcome), redactor) }
        : { status: outcome, error: null }),
    }),
  );
}

/** None when time ran out while the gateway waited to try again. */
function lastTry(exchange: Exchange): readonly FailedTry[] {
  const { failedTries, triedAt, answeredAt, error, upstreamStatus } = exchange;
  const before = failedTries.at(-1);
  return before !== undefined && triedAt < before.endedAt ? [] : [{
    outcome: upstreamStatus ?? error ?? exchange.response.status,
    startedAt: triedAt,
    endedAt: answeredAt,
  }];
}
