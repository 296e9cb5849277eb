import { type Cancellation, sleep } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { GatewayError, type GatewayErrorCode } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import type { Body } from "../../http/body.ts";
import { UnansweredError } from "../../http/client/upstream_errors.ts";
import {
  isIdempotent,
  type RequestMessage,
  type ResponseMessage,
} from "../../http/message.ts";
import type { Retry } from "../../snapshot/snapshot.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import type { Attempts } from "../request/attempts.ts";
import type { Destination } from "../balancing/attempt_target.ts";
import { ReplayableBody } from "../body/replayable_body.ts";
import { toGatewayError } from "../request/respond.ts";

/** Attempts at further endpoints that a request which was never sent gets without being configured. */
const MAX_FURTHER_ENDPOINTS = 2;

/** Errors after which the upstream cannot have acted on the request, and its body is still unread. */
const notSent: ReadonlySet<GatewayErrorCode> = new Set([
  "egress_denied",
  "upstream_connect_failed",
  "upstream_tls_failed",
  "upstream_overloaded",
]);

/** Errors after which it may have: only idempotent requests are retried (RFC 9110 section 9.2.2). */
const maybeSent: ReadonlySet<GatewayErrorCode> = new Set([
  "upstream_closed",
  "upstream_timeout",
]);

/** Makes one attempt. */
export type Send = (body: Body | undefined) => Promise<ResponseMessage>;

/** A request that may be sent several times. */
export interface RetriedRequest {
  readonly request: RequestMessage;
  readonly requestId: string;
  readonly attempts: Attempts;
  readonly trace: Pick<PolicyTrace, "report"> | undefined;
}

/** Dependencies of retries. */
export interface RetryOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly destination: Destination;
  /** Another backend can have the request: no attempt goes to the same endpoint again. */
  readonly hasAlternative: boolean;
  /** Further attempts of the request that count as those of this backend. */
  readonly retriesBefore: number;
  /** Longer bodies are not kept, so they cannot be sent again once they are read; 0 keeps none. */
  readonly maxReplayBytes: number;
  readonly send: Send;
}

/**
 * Sends a request until its outcome is good or no attempt is left; returns or throws the last outcome.
 *
 * A request that was never sent goes to another endpoint at once, also without `retry`; so does, once, an idempotent one without a
 * body whose connection ended without a response. Otherwise waits between attempts, twice as
 * long each time; a body that is too large to keep is sent once.
 */
export async function sendUntilGood(
  retried: RetriedRequest,
  retry: Retry | undefined,
  cancellation: Cancellation,
  options: RetryOptions,
): Promise<ResponseMessage> {
  const { clock, log, destination, maxReplayBytes, send } = options;
  const { request: { body, held }, attempts } = retried;
  destination.retries?.earn();
  const replay = body && maxReplayBytes > 0
    ? new ReplayableBody(body, maxReplayBytes, held)
    : undefined;
  try {
    for (;;) {
      let result: ResponseMessage | GatewayError;
      try {
        result = await send(replay?.nextAttempt() ?? body);
      } catch (error) {
        result = toGatewayError(error);
      }
      const outcome = result;
      const isError = outcome instanceof GatewayError;
      if (!isError && !isUnavailable(outcome.status, retry)) return outcome;
      const wasSent = !isError || !isUnsent(outcome);
      if (!wasSent) destination.connectFailed();
      const failed = isError ? outcome : outcome.status;
      const { target, tried } = attempts;
      const retries = attempts.retries - options.retriesBefore;
      const hasAnother = target !== undefined &&
        destination.hasAnother([...tried, target]);
      const further = hasAnother
        ? furtherEndpoints(failed, wasSent, retried.request)
        : 0;
      const mayRetry = (hasAnother || !options.hasAlternative) &&
        retries < Math.max(retry?.attempts ?? 0, further) &&
        (!wasSent ||
          (further > 0 || isWorthRetrying(failed, retry, retried.request)) &&
            destination.retries?.take() !== false);
      if (!mayRetry || replay?.replayable === false) return resultOf(outcome);
      replay?.endAttempt();
      if (!isError) outcome.body?.cancel("retried");
      const delayMs = !wasSent && hasAnother
        ? 0
        : (retry?.backoffMs ?? 0) * 2 ** retries;
      reportRetry(retried, failed, delayMs, log);
      attempts.fail(failed, clock.monotonic());
      if (delayMs > 0) await sleep(clock, delayMs, cancellation);
      attempts.retry(clock.monotonic());
    }
  } finally {
    replay?.settle();
  }
}

/** Statuses of a server, or of a proxy in front of it, that cannot handle the request now. */
const unavailable: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Reports whether another endpoint may respond better. */
export function isUnavailable(
  status: number,
  retry: Retry | undefined,
): boolean {
  return unavailable.has(status) || retry?.codes.has(status) === true;
}

/** Reports whether the upstream cannot have received the request, whose body is unread. */
export function isUnsent(error: GatewayError): boolean {
  return notSent.has(error.code) ||
    error instanceof UnansweredError && error.refused;
}

/** Reports whether an upstream has sent no response. */
export function isUnanswered(error: GatewayError): boolean {
  return error instanceof UnansweredError || error.code === "upstream_timeout";
}

/** Reports whether a request may be sent again without being configured: it changes nothing (RFC 9110 section 9.2.2), and has no body. */
export function isRepeatable(
  { method, body }: Pick<RequestMessage, "method" | "body">,
): boolean {
  return isIdempotent(method) && body === undefined;
}

/** Returns the number of attempts at further endpoints that a request gets without being configured. */
function furtherEndpoints(
  outcome: number | GatewayError,
  wasSent: boolean,
  request: RequestMessage,
): number {
  if (!wasSent) return MAX_FURTHER_ENDPOINTS;
  const mayRepeat = isRepeatable(request) &&
    (typeof outcome === "number"
      ? unavailable.has(outcome)
      : isUnanswered(outcome));
  return mayRepeat ? 1 : 0;
}

/** Reports whether `retry` sends a request again. */
export function isWorthRetrying(
  outcome: number | GatewayError,
  retry: Retry | undefined,
  { method }: RequestMessage,
): boolean {
  if (typeof outcome === "number") return retry?.codes.has(outcome) === true;
  const { code } = outcome;
  return maybeSent.has(code) &&
    (isIdempotent(method) || retry?.errors.has(code) === true);
}

function reportRetry(
  { requestId, attempts, trace }: RetriedRequest,
  outcome: number | GatewayError,
  delayMs: number,
  log: Log,
): void {
  const attempt = attempts.retries + 1;
  const delay = `${delayMs}ms`;
  const endpoint = attempts.target?.label;
  log.debug("Retrying", {
    "request.id": requestId,
    endpoint,
    after: outcome,
    attempt,
    delay,
  });
  const after = typeof outcome === "number" ? outcome : outcome.message;
  const details = { attempt, after, delay };
  trace?.report({ type: "policyEvent", kind: "retry", details });
}

function resultOf(outcome: ResponseMessage | GatewayError): ResponseMessage {
  if (outcome instanceof GatewayError) throw outcome;
  return outcome;
}
