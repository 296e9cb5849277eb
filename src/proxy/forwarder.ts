import { type Cancellation } from "../base/cancellation.ts";
import { GatewayError } from "../base/errors.ts";
import type { Log } from "../base/log/log.ts";
import type { ResponseMessage } from "../http/message.ts";
import { callerOf } from "../policy/authentication/request_identity.ts";
import type { Route } from "../snapshot/snapshot.ts";
import { Attempts, type BackendAttempt } from "./request/attempts.ts";
import { hashOf } from "./balancing/hash.ts";
import {
  endpointOfSession,
  markSession,
  sessionLost,
  unmarkSession,
} from "./balancing/session_mark.ts";
import type { Exchange } from "./exchange/exchange.ts";
import type { Mirrors } from "./mirrors.ts";
import { sendUntilGood } from "./failover/retry.ts";
import {
  findSession,
  keepsSessions,
  persistentSession,
  persistSession,
} from "./route_sessions.ts";
import {
  AttemptSender,
  type AttemptSenderOptions,
  type Call,
  MAX_REPLAY_BYTES,
} from "./attempt_sender.ts";
import { type TimeLimit, withinLimit } from "./request/time_limit.ts";

/** Dependencies of the forwarder. */
export interface ForwarderOptions extends AttemptSenderOptions {
  readonly mirrors: Mirrors;
  readonly log: Log;
}

/** Sends requests to backends: mirrors, time limits, attempts. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #sender: AttemptSender;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#sender = new AttemptSender(options);
  }

  /**
   * Returns the upstream's response as soon as its head has arrived.
   * @throws {GatewayError} When the backend does not resolve, cannot be reached, fails or exceeds a time limit.
   */
  async forward(
    exchange: Exchange,
    route: Route,
    attempt: BackendAttempt,
  ): Promise<ResponseMessage> {
    const { clock, mirrors } = this.#options;
    const isFirst = exchange.attempts === undefined;
    if (isFirst && route.mirrors.length > 0) {
      mirrors.send(exchange.request, route.mirrors, {
        requestId: exchange.requestId,
        route: route.name,
        caller: callerOf(exchange.slots),
        trace: exchange.trace?.policies,
      });
    }
    const attempts = exchange.attempts ??= new Attempts(clock.monotonic());
    let call: Call | undefined;
    try {
      call = this.#resolve(exchange, attempts, route, attempt);
      const response = await this.#sendInTime(call);
      attempts.status = response.status;
      if (keepsSessions(call)) {
        markSession(response.headers, attempts.target?.label ?? "");
      }
      persistSession(call, response, clock);
      return response;
    } catch (error) {
      throw call?.sessionEndpoint !== undefined && isUnreachable(error)
        ? sessionLost(error.message)
        : error;
    } finally {
      attempts.endedAt = clock.monotonic();
    }
  }

  #resolve(
    exchange: Exchange,
    attempts: Attempts,
    route: Route,
    { target: { backend, problem }, hasAlternative = false, limitMs = 0 }:
      BackendAttempt,
  ): Call {
    if (backend === undefined) {
      const message = problem ?? "Backend not found";
      throw new GatewayError("invalid_backend", "gateway", message);
    }
    const destination = this.#options.upstreams.get(backend);
    const { headers } = exchange.request;
    const sessionEndpoint = endpointOfSession(headers);
    if (sessionEndpoint !== undefined) unmarkSession(headers);
    const ofSession = sessionEndpoint !== undefined &&
        backend.balancing?.sharesSessions !== true
      ? destination.forSession?.(sessionEndpoint)
      : undefined;
    const session = persistentSession(exchange, route, this.#options.clock);
    const preferred = session && session.backend === hashOf(backend.key)
      ? session
      : undefined;
    return {
      exchange,
      attempts,
      route,
      backend,
      hasAlternative,
      limitMs,
      destination: ofSession ??
        (preferred && destination.preferring?.(preferred.endpoint)) ??
        destination,
      endpointOfClient: preferred?.endpoint,
      sessionEndpoint: ofSession && sessionEndpoint,
    };
  }

  /** Returns the session of a request to a route with several backends; see `findSession`. */
  findSession(exchange: Exchange, route: Route) {
    return findSession(exchange, route, this.#options);
  }

  /** Runs all attempts within the route's time limit. */
  #sendInTime(call: Call): Promise<ResponseMessage> {
    const { exchange, attempts, route, backend } = call;
    const { clock } = this.#options;
    const { requestTimeoutMs = 0 } = route;
    // Backends before this one have used a part of the time.
    const usedMs = attempts.attemptStartedAt === attempts.startedAt
      ? 0
      : clock.monotonic() - attempts.startedAt;
    const limit: TimeLimit = {
      clock,
      limitMs: requestTimeoutMs && Math.max(1, requestTimeoutMs - usedMs),
      code: "route_timeout",
      backend: backend.key,
    };
    return withinLimit(
      exchange.meter?.cancellation ?? exchange.request.cancellation,
      limit,
      (cancellation) => this.#sendWithRetries(call, cancellation),
    );
  }

  #sendWithRetries(
    call: Call,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const { exchange, attempts, backend, destination } = call;
    const { retry, replaysFailures = false } = call.route;
    const { clock, log, maxLlmBodyBytes } = this.#options;
    const maxReplayBytes = retry === undefined
      ? 0
      : backend.llm === undefined
      ? MAX_REPLAY_BYTES
      : maxLlmBodyBytes;
    const trace = exchange.trace?.policies;
    const { request, requestId } = exchange;
    return sendUntilGood(
      { request, requestId, attempts, trace },
      retry,
      cancellation,
      {
        clock,
        log,
        destination,
        hasAlternative: call.hasAlternative,
        // Backends with priorities have all attempts each; those of one group share them.
        retriesBefore: replaysFailures ? attempts.retries : 0,
        maxReplayBytes,
        send: (body) => this.#sender.send(call, body, cancellation),
      },
    );
  }
}

/** Reports whether an endpoint is not there any more, and its sessions with it. */
function isUnreachable(error: unknown): error is GatewayError {
  return error instanceof GatewayError &&
    (error.code === "upstream_connect_failed" ||
      error.code === "upstream_tls_failed");
}
