import { type Cancellation, sleep } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import { GatewayError, type GatewayErrorCode } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Body } from "../http/body.ts";
import {
  isIdempotent,
  type RequestMessage,
  type ResponseMessage,
} from "../http/message.ts";
import type { Retry } from "../snapshot/snapshot.ts";
import type { PolicyTrace } from "../policy/policy_trace.ts";
import type { Attempts } from "./attempts.ts";
import { ReplayableBody } from "./body/replayable_body.ts";
import { toGatewayError } from "./respond.ts";

/** Larger bodies are not kept, so they cannot be retried. */
const MAX_REPLAY_BYTES = 64 * 1024;

/** Errors after which the upstream cannot have acted on the request. */
const notSent: ReadonlySet<GatewayErrorCode> = new Set([
  "upstream_connect_failed",
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
  readonly send: Send;
}

/**
 * Sends a request until its outcome is good or no attempt is left; returns or throws the last outcome.
 *
 * Waits between attempts, twice as long each time. A body that is too large to keep is sent once.
 */
export async function sendUntilGood(
  retried: RetriedRequest,
  retry: Retry,
  cancellation: Cancellation,
  { clock, log, send }: RetryOptions,
): Promise<ResponseMessage> {
  const { request: { body, method }, attempts } = retried;
  const replay = body && new ReplayableBody(body, MAX_REPLAY_BYTES);
  try {
    for (;;) {
      const outcome = await send(replay?.nextAttempt()).catch(toGatewayError);
      const mayRetry = attempts.retries < retry.attempts &&
        (replay?.replayable ?? true);
      if (!mayRetry || !isWorthRetrying(outcome, retry, method)) {
        return resultOf(outcome);
      }
      replay?.endAttempt();
      if (!(outcome instanceof GatewayError)) outcome.body?.cancel("retried");
      const delayMs = retry.backoffMs * 2 ** attempts.retries;
      reportRetry(retried, outcome, delayMs, log);
      const failed = outcome instanceof GatewayError ? outcome : outcome.status;
      attempts.fail(failed, clock.monotonic());
      await sleep(clock, delayMs, cancellation);
      attempts.retry(clock.monotonic());
    }
  } finally {
    replay?.settle();
  }
}

function reportRetry(
  { requestId, attempts, trace }: RetriedRequest,
  outcome: ResponseMessage | GatewayError,
  delayMs: number,
  log: Log,
): void {
  const attempt = attempts.retries + 1;
  const delay = `${delayMs}ms`;
  const isError = outcome instanceof GatewayError;
  log.debug("Retrying", {
    "request.id": requestId,
    after: isError ? outcome : outcome.status,
    attempt,
    delay,
  });
  const after = isError ? outcome.message : outcome.status;
  const details = { attempt, after, delay };
  trace?.report({ type: "policyEvent", kind: "retry", details });
}

function resultOf(outcome: ResponseMessage | GatewayError): ResponseMessage {
  if (outcome instanceof GatewayError) throw outcome;
  return outcome;
}

function isWorthRetrying(
  outcome: ResponseMessage | GatewayError,
  retry: Retry,
  method: string,
): boolean {
  if (!(outcome instanceof GatewayError)) {
    return retry.codes.has(outcome.status);
  }
  if (notSent.has(outcome.code)) return true;
  return maybeSent.has(outcome.code) && isIdempotent(method);
}
