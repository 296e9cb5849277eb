import type { Clock } from "../../base/clock.ts";
import { GatewayError, type GatewayErrorCode } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Body } from "../../http/body.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { Route, WeightedBackend } from "../../snapshot/snapshot.ts";
import { ReplayableBody } from "../body/replayable_body.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { BackendAttempt } from "../request/attempts.ts";
import { isPrompt } from "../balancing/silence_watch.ts";
import { toGatewayError } from "../request/respond.ts";
import {
  isRepeatable,
  isUnanswered,
  isUnavailable,
  isUnsent,
  isWorthRetrying,
} from "./retry.ts";
import { withinLimit } from "../request/time_limit.ts";
import { BackendChoice, type GroupedRequest } from "./backend_choice.ts";
import type { Cooldowns } from "./cooldowns.ts";
import { awaitFirstEvent, isEventStream } from "./first_event.ts";

/** Errors that another backend may not have. */
const backendErrors: ReadonlySet<GatewayErrorCode> = new Set([
  "credentials_rejected",
  "credentials_unavailable",
  "egress_denied",
  "invalid_backend",
  "llm_key_rejected",
  "llm_response_invalid",
  "no_endpoints",
  "upstream_closed",
  "upstream_connect_failed",
  "upstream_overloaded",
  "upstream_protocol_error",
  "upstream_timeout",
  "upstream_tls_failed",
]);

/** Longer bodies are not kept for another backend, unless `maxBufferBytes` applies. */
const MAX_REPLAY_BYTES = 64 * 1024;

/** Dependencies of failover. */
export interface FailoverOptions {
  readonly cooldowns: Cooldowns;
  readonly clock: Clock;
  readonly log: Log;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Longer request bodies are not kept, so they cannot go to another backend once they are read. */
  readonly maxBufferBytes: number;
  /** Called when a request leaves a backend for another. @param reason Status or error code. */
  readonly onFailover: (backend: string, reason: string) => void;
}

/** A response, and whether the backend sent it: otherwise a policy did, for whom all backends are the same. */
export interface BackendResponse {
  readonly response: ResponseMessage;
  readonly isUpstream: boolean;
}

/** Sends a request to a backend. */
export type SendToBackend = (
  attempt: BackendAttempt,
) => Promise<BackendResponse>;

/** Sends requests to the backends of a route, by priority and weight, until one is well. */
export class Failover {
  readonly #options: FailoverOptions;

  constructor(options: FailoverOptions) {
    this.#options = options;
  }

  /**
   * Returns the first good response, or the last outcome.
   *
   * A stream of events counts as good once its first event is there; from then on it stays with its backend.
   * @throws {GatewayError} The error of the last backend.
   */
  async send(
    grouped: GroupedRequest,
    send: SendToBackend,
  ): Promise<BackendResponse> {
    const { exchange, route } = grouped;
    const { request } = exchange;
    const original = copyHead(request);
    const unread = request.body;
    const body = unread && this.#keep(unread, grouped);
    const seen = exchange.policyRun?.seen ?? 0;
    const choice = new BackendChoice(grouped, this.#options);
    try {
      let target = choice.first();
      this.#reportResting(grouped, target);
      for (;;) {
        request.body = body?.nextAttempt() ?? unread;
        const outcome = await this.#sendOnce(grouped, target, choice, send);
        const reason = failureOf(outcome, route);
        if (reason === undefined) {
          this.#recordEnd(exchange, target, outcome);
        }
        const restMs = reason === undefined
          ? 0
          : this.#recordFailure(target, reason, outcome);
        const isGone = body?.replayable === false ||
          unread !== undefined && body === undefined && request.body !== unread;
        const next = isGone || !mayMove(outcome, reason, grouped)
          ? undefined
          : choice.next();
        if (next === undefined) {
          if (reason !== undefined) exchange.passedOver = choice.passedOver();
          return resultOf(outcome);
        }
        body?.endAttempt();
        responseOf(outcome)?.body?.cancel("failed over");
        const after = exchange.attempts?.isTooLong
          ? "context_too_long"
          : reason ?? reasonOfRetry(outcome);
        this.#record(exchange, target, next, {
          outcome,
          reason: after,
          restMs,
        });
        restoreHead(request, original);
        exchange.policyRun?.forgetAfter(seen);
        target = next;
      }
    } finally {
      body?.settle();
    }
  }

  /** Keeps a body for another backend, where one may get it after this one has read it. */
  #keep(
    body: Body,
    { exchange: { request }, route: { replaysFailures, retry } }:
      GroupedRequest,
  ): ReplayableBody | undefined {
    if (replaysFailures !== true && retry === undefined) return undefined;
    const maxBytes = replaysFailures === true
      ? this.#options.maxBufferBytes
      : MAX_REPLAY_BYTES;
    return new ReplayableBody(body, maxBytes, request.held);
  }

  #recordEnd(
    { attempts, request }: Exchange,
    { backend }: WeightedBackend,
    outcome: BackendResponse | GatewayError,
  ): void {
    if (backend === undefined) return;
    const { cooldowns } = this.#options;
    if (isUpstream(outcome)) {
      const { attemptStartedAt = 0, endedAt } = attempts ?? {};
      const latencyMs = endedAt && isPrompt(request)
        ? endedAt - attemptStartedAt
        : undefined;
      cooldowns.succeeded(backend, latencyMs);
    } else cooldowns.abandoned(backend);
  }

  #recordFailure(
    { backend }: WeightedBackend,
    reason: string,
    outcome: BackendResponse | GatewayError,
  ): number {
    if (backend === undefined) return 0;
    const wasUnsent = outcome instanceof GatewayError && isUnsent(outcome);
    const response = responseOf(outcome);
    return this.#options.cooldowns.failed(
      backend,
      { reason, wasUnsent, response },
    );
  }

  async #sendOnce(
    { exchange, route }: GroupedRequest,
    target: WeightedBackend,
    choice: BackendChoice,
    send: SendToBackend,
  ): Promise<BackendResponse | GatewayError> {
    const { clock, cooldowns } = this.#options;
    const { backend } = target;
    const { request } = exchange;
    const trialMs = backend === undefined
      ? 0
      : cooldowns.sent(backend, isPrompt(request));
    const hasAlternative = choice.hasNext();
    const limitMs = !hasAlternative || !choice.mayRepeat
      ? undefined
      : trialMs || backend?.failoverAfterMs;
    try {
      const outcome = await send({ target, hasAlternative, limitMs });
      const { response, isUpstream } = outcome;
      const holdsStream = route.replaysFailures === true && isUpstream &&
        isEventStream(response);
      if (!holdsStream) return outcome;
      const limit = {
        clock,
        limitMs: route.backendTimeoutMs ?? limitMs ?? 0,
        code: "upstream_timeout",
        backend: backend?.key ?? "",
      } as const;
      await withinLimit(
        request.cancellation,
        limit,
        (cancellation) => awaitFirstEvent(response, cancellation),
      );
      return outcome;
    } catch (error) {
      return toGatewayError(error);
    }
  }

  /** Traces the backends that were passed over, because they rest. */
  #reportResting(
    { exchange: { trace }, groups }: GroupedRequest,
    to: WeightedBackend,
  ): void {
    if (trace === undefined) return;
    const { clock, cooldowns } = this.#options;
    const restsUntil = Object.fromEntries(
      groups.flatMap(({ backends }) => backends).flatMap(({ backend }) => {
        const restMs = backend ? cooldowns.remainingMs(backend, true) : 0;
        if (backend === undefined || restMs === 0) return [];
        return [[backend.key, new Date(clock.now() + restMs).toISOString()]];
      }),
    );
    if (Object.keys(restsUntil).length === 0) return;
    const details = { to: to.backend?.key ?? null, restsUntil };
    trace.policies.report({ type: "policyEvent", kind: "failover", details });
  }

  #record(
    { requestId, attempts, trace }: Exchange,
    from: WeightedBackend,
    to: WeightedBackend,
    { outcome, reason, restMs }: {
      readonly outcome: BackendResponse | GatewayError;
      readonly reason: string;
      readonly restMs: number;
    },
  ): void {
    const { clock, log, onFailover } = this.#options;
    const name = from.backend?.name ?? "unknown";
    const coolDown = `${restMs}ms`;
    const failed = outcome instanceof GatewayError
      ? outcome
      : outcome.response.status;
    attempts?.failOver(name, reason, failed, clock.monotonic());
    onFailover(name, reason);
    log.debug("Failing over", {
      "request.id": requestId,
      from: from.backend?.key,
      to: to.backend?.key,
      after: failed,
      coolDown,
    });
    const details = {
      from: from.backend?.key ?? null,
      to: to.backend?.key ?? null,
      after: failed instanceof GatewayError ? failed.message : failed,
      coolDown,
    };
    trace?.policies.report({ type: "policyEvent", kind: "failover", details });
  }
}

/** Returns why a backend has failed; `undefined` when the outcome is not its fault. */
function failureOf(
  outcome: BackendResponse | GatewayError,
  { replaysFailures = false }: Route,
): string | undefined {
  if (outcome instanceof GatewayError) {
    const { code } = outcome;
    // The share of a reference that does not resolve gets 500, unless priorities say who replaces it.
    const isFailure = code === "invalid_backend"
      ? replaysFailures
      : backendErrors.has(code);
    return isFailure ? code : undefined;
  }
  const { isUpstream, response: { status } } = outcome;
  const hasFailed = replaysFailures
    ? status === 429 || status >= 500
    : isUnavailable(status, undefined);
  return isUpstream && hasFailed ? String(status) : undefined;
}

/** Reports whether another backend may get the request. */
function mayMove(
  outcome: BackendResponse | GatewayError,
  reason: string | undefined,
  { exchange: { request, attempts }, route }: GroupedRequest,
): boolean {
  const { replaysFailures = false, retry } = route;
  if (reason !== undefined) {
    if (replaysFailures) return true;
    const isUnanswerable = !(outcome instanceof GatewayError) ||
      isUnanswered(outcome);
    if (isRepeatable(request) && isUnanswerable) return true;
    if (
      outcome instanceof GatewayError &&
      (isUnsent(outcome) || outcome.code === "no_endpoints")
    ) return true;
  }
  // A model with a larger context may take it.
  if (replaysFailures && attempts?.isTooLong === true) return true;
  if (retry === undefined || (attempts?.retries ?? 0) >= retry.attempts) {
    return false;
  }
  if (outcome instanceof GatewayError) {
    return isWorthRetrying(outcome, retry, request);
  }
  const { isUpstream, response: { status } } = outcome;
  return isUpstream && isWorthRetrying(status, retry, request);
}

function reasonOfRetry(outcome: BackendResponse | GatewayError): string {
  return outcome instanceof GatewayError
    ? outcome.code
    : String(outcome.response.status);
}

function isUpstream(outcome: BackendResponse | GatewayError): boolean {
  return !(outcome instanceof GatewayError) && outcome.isUpstream;
}

function responseOf(
  outcome: BackendResponse | GatewayError,
): ResponseMessage | undefined {
  return outcome instanceof GatewayError ? undefined : outcome.response;
}

function resultOf(outcome: BackendResponse | GatewayError): BackendResponse {
  if (outcome instanceof GatewayError) throw outcome;
  return outcome;
}

type Head = Pick<RequestMessage, "method" | "authority" | "target" | "headers">;

/** Copies what policies of a backend may change. */
function copyHead({ method, authority, target, headers }: Head): Head {
  return { method, authority, target, headers: headers.copy() };
}

function restoreHead(request: RequestMessage, original: Head): void {
  Object.assign(request, copyHead(original));
}
