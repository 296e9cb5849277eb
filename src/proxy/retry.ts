import { type Cancellation, sleep } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import { GatewayError, type GatewayErrorCode } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Body } from "../http/body.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { Retry } from "../snapshot/snapshot.ts";
import type { Exchange } from "./exchange.ts";
import { ReplayableBody } from "./body/replayable_body.ts";
import { toGatewayError } from "./respond.ts";
import { isIdempotent } from "../http/idempotent.ts";

/** Bodies up to this size can be sent again. */
const MAX_REPLAY_BYTES = 64 * 1024;

/** Failures after which the upstream cannot have acted on the request. */
const notSent: ReadonlySet<GatewayErrorCode> = new Set([
  "upstream_connect_failed",
  "upstream_overloaded",
]);

/** Failures after which it may have: only idempotent requests are sent again (RFC 9110 section 9.2.2). */
const maybeSent: ReadonlySet<GatewayErrorCode> = new Set([
  "upstream_closed",
  "upstream_timeout",
]);

/** One try. */
export type Send = (body: Body | undefined) => Promise<ResponseMessage>;

/** What trying again takes. */
export interface RetryTools {
  readonly clock: Clock;
  readonly log: Log;
  readonly send: Send;
}

/**
 * Sends a request until its outcome is good, or no try is left; the last outcome counts, whatever it is.
 *
 * Waits between tries, twice as long each time. A body that is too large to be kept is sent once.
 */
export async function sendUntilGood(
  exchange: Exchange,
  retry: Retry,
  cancellation: Cancellation,
  { clock, log, send }: RetryTools,
): Promise<ResponseMessage> {
  const { body, method } = exchange.request;
  const replay = body && new ReplayableBody(body, MAX_REPLAY_BYTES);
  try {
    for (;;) {
      const outcome = await send(replay?.nextTry())
        .catch(toGatewayError);
      const mayRetry = exchange.retries < retry.attempts &&
        (replay?.replayable ?? true);
      if (!mayRetry || !isWorthRetrying(outcome, retry, method)) {
        return resultOf(outcome);
      }
      replay?.endTry();
      if (!(outcome instanceof GatewayError)) {
        outcome.body?.cancel("tried again");
      }
      const delayMs = retry.backoffMs * 2 ** exchange.retries;
      log.debug("Trying again", {
        "request.id": exchange.requestId,
        after: outcome instanceof GatewayError ? outcome : outcome.status,
        attempt: exchange.retries + 1,
        delay: `${delayMs}ms`,
      });
      noteTry(exchange, outcome, clock.monotonic(), delayMs);
      await sleep(clock, delayMs, cancellation);
      exchange.retries++;
      exchange.triedAt = clock.monotonic();
    }
  } finally {
    replay?.settle();
  }
}

function noteTry(
  exchange: Exchange,
  outcome: ResponseMessage | GatewayError,
  endedAt: number,
  delayMs: number,
): void {
  const failed = outcome instanceof GatewayError ? outcome : outcome.status;
  exchange.failedTries = [
    ...exchange.failedTries,
    { outcome: failed, startedAt: exchange.triedAt, endedAt },
  ];
  exchange.trace?.report({
    type: "policyEvent",
    kind: "retry",
    details: {
      attempt: exchange.retries + 1,
      after: typeof failed === "number" ? failed : failed.message,
      delay: `${delayMs}ms`,
    },
  });
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
