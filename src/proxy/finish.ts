import type { Clock } from "../base/clock.ts";
import { describeError, GatewayError } from "../base/errors.ts";
import type { Outcome, Reply, ResponseMessage } from "../http/message.ts";
import { StalledClientError } from "../http/server/contract/request_error.ts";
import {
  clientOf,
  ownerOf,
} from "../policy/authentication/request_identity.ts";
import { endListeners } from "../policy/contract/request_listeners.ts";
import {
  failedExpressions,
  mcpMessage,
} from "../policy/expressions/expression_slots.ts";
import { pathOf } from "../route/normalize_target.ts";
import type { TokenUsage } from "../llm/usage/token_usage.ts";
import type {
  FinishedRequest,
  RequestUse,
} from "../telemetry/log/finished_request.ts";
import type { UnsettledCounts } from "./metering/meter/unsettled_counts.ts";
import type { Exchange } from "./exchange/exchange.ts";
import { providerName } from "./exchange/gen_ai_attributes.ts";
import { toGatewayError } from "./request/respond.ts";

/** Receives an exchange that is over, once. */
export type FinishObserver = (
  exchange: Exchange,
  response: ResponseMessage,
  outcome: Outcome,
) => void;

/** The response to an exchange, which reports to `onFinish` when it is delivered. */
export class ExchangeReply implements Reply {
  readonly response: ResponseMessage;
  readonly #exchange: Exchange;
  readonly #onFinish: FinishObserver;

  constructor(
    exchange: Exchange,
    response: ResponseMessage,
    onFinish: FinishObserver,
  ) {
    this.response = response;
    this.#exchange = exchange;
    this.#onFinish = onFinish;
  }

  finished(outcome: Outcome): void {
    this.#exchange.release();
    this.#onFinish(this.#exchange, this.response, outcome);
  }
}

/**
 * Turns an exchange that is over into one record and passes it to `record`: access log, metrics, failure memory.
 * @param unsettled Gets the responses that were delivered before they are counted.
 */
export function observeFinishedRequests(
  clock: Clock,
  record: (request: FinishedRequest, exchange: Exchange) => void,
  unsettled?: Pick<UnsettledCounts, "add">,
): FinishObserver {
  return (exchange, response, outcome) => {
    const { attempts, error, meter, startedAt, trace } = exchange;
    const leftBeforeResponse = error?.code === "client_closed" &&
      attempts !== undefined;
    if (leftBeforeResponse) meter?.abandon();
    const durationMs = clock.monotonic() - startedAt;
    const finish = () => {
      for (const end of exchange.slots?.get(endListeners) ?? []) end();
      const finished = describe(exchange, response, outcome, durationMs);
      record(finished, exchange);
      trace?.finished(finished);
    };
    const counting = meter?.counts.counting;
    if (counting === undefined) return finish();
    const counted = counting.then(finish);
    if (outcome.error === undefined) unsettled?.add(counted);
  };
}

function describe(
  exchange: Exchange,
  response: ResponseMessage,
  outcome: Outcome,
  durationMs: number,
): FinishedRequest {
  const { attempts, originalRequest, request: { source, version } } = exchange;
  const { backend, listener, route } = exchange.routed;
  return {
    time: exchange.acceptedAt,
    durationMs,
    port: exchange.port,
    gateway: listener?.gateway,
    listener: listener?.name,
    route: route?.name,
    backend: backend?.name,
    provider: providerOf(exchange),
    endpoint: attempts?.target?.label ??
      (backend && `${backend.host}:${backend.port}`),
    source: `${source.address}:${source.port}`,
    client: clientOf(exchange.slots),
    owner: ownerOf(exchange.slots),
    method: originalRequest.method,
    host: originalRequest.authority,
    path: pathOf(originalRequest.target),
    version,
    status: response.status,
    bytesSent: outcome.bytesSent,
    requestId: exchange.requestId,
    upstreamRequestId: attempts?.providerRequestId ??
      upstreamIdOf(exchange, response),
    upstreamDurationMs: attempts?.durationMs,
    firstTokenMs: firstTokenOf(exchange),
    reason: reasonOf(exchange, outcome),
    error: errorOf(exchange, response, outcome),
    retries: attempts?.retries ?? 0,
    failedOver: attempts?.failedOver,
    dropped: attempts?.dropped,
    // A rule that denies a request has read its message.
    mcp: attempts === undefined
      ? exchange.slots?.get(mcpMessage)
      : attempts.mcp,
    trace: traceOf(exchange),
    usage: exchange.meter?.counts.usage,
    countedInParts: exchange.meter?.countsParts,
    uncounted: exchange.meter?.counts.uncounted,
    failedExpressions: exchange.slots?.get(failedExpressions),
  };
}

/** Returns a part of what an exchange uses. */
export function usedPart(
  exchange: Exchange,
  time: number,
  usage: TokenUsage,
): RequestUse {
  const { slots, routed: { route, backend } } = exchange;
  return {
    time,
    client: clientOf(slots),
    owner: ownerOf(slots),
    route: route?.name,
    backend: backend?.name,
    provider: providerOf(exchange),
    usage,
  };
}

function providerOf({ meter, routed: { backend } }: Exchange) {
  const api = meter?.api;
  return api === undefined ? undefined : providerName(api, backend?.llm);
}

function firstTokenOf({ meter, startedAt }: Exchange): number | undefined {
  const { usage, firstOutputAt: at } = meter?.counts ?? {};
  if (usage === undefined) return undefined;
  return at && at - startedAt;
}

function traceOf({ span }: Exchange): FinishedRequest["trace"] {
  if (span === undefined) return undefined;
  const { traceId, spanId, isSampled } = span;
  return { traceId, spanId, isSampled };
}

/** Returns the request id that the upstream gave in place of ours. */
function upstreamIdOf(
  { requestId }: Exchange,
  { headers }: ResponseMessage,
): string | undefined {
  const id = headers.get("x-request-id");
  return id === requestId ? undefined : id;
}

function reasonOf(
  { error, policyRun, attempts, meter }: Exchange,
  outcome: Outcome,
): FinishedRequest["reason"] {
  const closedBy = meter?.counts.closedBy;
  if (closedBy !== undefined) return closedBy;
  if (error !== undefined) return error.code;
  if (outcome.error !== undefined) return toGatewayError(outcome.error).code;
  if (policyRun?.rejection !== undefined) return policyRun.rejection.reason;
  if (attempts?.limitedBy !== undefined) return "llm_provider_limit";
  return attempts === undefined ? "direct_response" : "upstream";
}

const closings = {
  rate_limit: "Closed the WebSocket: a budget is used up",
  authorization: "Closed the WebSocket: its session changed the model",
} as const;

function errorOf(
  { error, policyRun, meter }: Exchange,
  { status }: ResponseMessage,
  outcome: Outcome,
): string | undefined {
  const closedBy = meter?.counts.closedBy;
  if (closedBy !== undefined) return closings[closedBy];
  const cause = error ?? outcome.error;
  if (cause === undefined) return policyRun?.rejection?.message;
  // Closing is how a client ends a stream of events: the reason says it, and nothing is wrong.
  const hadEnough = status < 400 && cause instanceof GatewayError &&
    cause.code === "client_closed" && !(cause instanceof StalledClientError);
  return hadEnough ? undefined : describeError(cause);
}
