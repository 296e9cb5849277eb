import type { Clock } from "../base/clock.ts";
import { describeError, GatewayError } from "../base/errors.ts";
import type { Outcome } from "../http/message.ts";
import { StalledClientError } from "../http/server/request_error.ts";
import { failedExpressions } from "../policy/expressions/expression_slots.ts";
import { pathOf } from "../route/normalize_target.ts";
import type { FinishedRequest } from "../telemetry/log/finished_request.ts";
import type { Exchange, FinishObserver } from "./exchange.ts";
import { toGatewayError } from "./respond.ts";

/** Turns an exchange that is over into one record and hands it to `record`: access log, metrics, memory of failures. */
export function observeFinishedRequests(
  clock: Clock,
  record: (request: FinishedRequest, exchange: Exchange) => void,
): FinishObserver {
  return (exchange, outcome) => {
    const durationMs = clock.monotonic() - exchange.startedAt;
    const finish = () => {
      const finished = describe(exchange, outcome, durationMs);
      record(finished, exchange);
      exchange.requestTrace?.finished(finished);
    };
    const decoding = exchange.meter?.decoding;
    if (decoding === undefined) finish();
    else decoding.then(finish);
  };
}

function describe(
  exchange: Exchange,
  outcome: Outcome,
  durationMs: number,
): FinishedRequest {
  const { asked, backend, listener, request } = exchange;
  return {
    time: exchange.acceptedAt,
    durationMs,
    port: exchange.port,
    gateway: listener?.gateway,
    listener: listener?.name,
    route: exchange.route?.name,
    backend: backend?.name,
    endpoint: backend && `${backend.host}:${backend.port}`,
    source: `${request.source.address}:${request.source.port}`,
    method: asked.method,
    host: asked.authority,
    path: pathOf(asked.target),
    version: request.version,
    status: exchange.response.status,
    bytesSent: outcome.bytesSent,
    requestId: exchange.requestId,
    answerId: answerIdOf(exchange),
    upstreamDurationMs: exchange.upstreamMs,
    reason: reasonOf(exchange, outcome),
    error: errorOf(exchange, outcome),
    retries: exchange.retries,
    usage: exchange.meter?.usage,
    failedExpressions: exchange.slots.get(failedExpressions),
  };
}

function answerIdOf(
  { requestId, response }: Exchange,
): string | undefined {
  const id = response.headers.get("x-request-id");
  return id === requestId ? undefined : id;
}

function reasonOf(
  { error, refusal, upstreamMs }: Exchange,
  outcome: Outcome,
): FinishedRequest["reason"] {
  if (error !== undefined) return error.code;
  if (outcome.error !== undefined) return toGatewayError(outcome.error).code;
  if (refusal !== undefined) return refusal.reason;
  return upstreamMs === undefined ? "direct_response" : "upstream";
}

function errorOf(
  { error, refusal, response }: Exchange,
  outcome: Outcome,
): string | undefined {
  const cause = error ?? outcome.error;
  if (cause === undefined) return refusal?.message;
  // Closing is how a client ends a stream of events: the reason says it, and nothing is wrong.
  const hadEnough = response.status < 400 && cause instanceof GatewayError &&
    cause.code === "client_closed" && !(cause instanceof StalledClientError);
  return hadEnough ? undefined : describeError(cause);
}
