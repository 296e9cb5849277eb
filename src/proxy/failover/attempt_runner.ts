import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { WeightedBackend } from "../../snapshot/snapshot.ts";
import { isPrompt } from "../balancing/silence_watch.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { BackendAttempt } from "../request/attempts.ts";
import { toGatewayError } from "../request/respond.ts";
import { withinLimit } from "../request/time_limit.ts";
import type { BackendChoice, GroupedRequest } from "./backend_choice.ts";
import { watchFilter } from "./content_filter.ts";
import type { Cooldowns } from "./cooldowns.ts";
import { awaitFirstEvent, isEventStream } from "./first_event.ts";
import type { ModelState, UnansweredRequest } from "./model_states.ts";
import {
  type BackendResponse,
  failureOf,
  type Outcome,
  responseOf,
} from "./outcome.ts";
import { isUnsent } from "./retry.ts";
import { awaitAnswer, isWholeAnswer } from "./whole_answer.ts";

/** Sends the request of an exchange to a backend. */
export type SendToBackend = (
  attempt: BackendAttempt,
  exchange: Exchange,
) => Promise<BackendResponse>;

/** An attempt that is over. */
export interface EndedAttempt {
  readonly target: WeightedBackend;
  readonly exchange: Exchange;
  readonly outcome: Outcome;
  /** Failure of the backend: a status, or the code of an error; `undefined` when the outcome is not its fault. */
  readonly failure: string | undefined;
  /** Rest of the backend that follows, in milliseconds; 0 for none. */
  readonly restMs: number;
}

/** Dependencies of attempts. */
export interface AttemptRunnerOptions {
  readonly cooldowns: Cooldowns;
  readonly clock: Clock;
}

/** An attempt whose time is measured. */
interface MeasuredAttempt {
  readonly state: ModelState;
  readonly sent: UnansweredRequest;
  readonly choice: BackendChoice;
  readonly exchange: Exchange;
}

/** Limit of the time to the first event of a stream, while it is not known how long a model takes. */
const STREAM_FAILOVER_MS = 60_000;
/** A model that responds soon has at least this time. */
const MIN_FAILOVER_MS = 30_000;
/** It has so many times the time that it usually takes. */
const USUAL_FACTOR = 20;
/** Responses from which that is known. */
const MIN_SAMPLES = 4;

/** Makes the attempts of a request to its backends, and records what they say about the backends. */
export class AttemptRunner {
  readonly #options: AttemptRunnerOptions;

  constructor(options: AttemptRunnerOptions) {
    this.#options = options;
  }

  /** Sends a request to a backend; a stream is over when its first event is there. */
  async run(
    grouped: GroupedRequest,
    target: WeightedBackend,
    choice: BackendChoice,
    send: SendToBackend,
  ): Promise<EndedAttempt> {
    const { clock, cooldowns } = this.#options;
    const { exchange, route } = grouped;
    const { backend } = target;
    const state = backend &&
      cooldowns.models.of(backend, choice.requested.model);
    const startedAt = clock.monotonic();
    const sent = state?.sent(startedAt);
    const outcome = await this.#send(grouped, target, choice, send);
    const failure = failureOf(outcome, route);
    if (state !== undefined && sent !== undefined) {
      this.#recordTime({ state, sent, choice, exchange }, outcome, failure);
    }
    const ended = { target, exchange, outcome, failure };
    if (backend === undefined) return { ...ended, restMs: 0 };
    const { model } = choice.requested;
    if (failure === undefined) {
      this.#recordEnd(exchange, backend, outcome, model);
      return { ...ended, restMs: 0 };
    }
    const wasUnsent = outcome instanceof GatewayError && isUnsent(outcome);
    const response = responseOf(outcome);
    const known = { reason: failure, wasUnsent, response };
    return { ...ended, restMs: cooldowns.failed(backend, known, model) };
  }

  async #send(
    { exchange, route }: GroupedRequest,
    target: WeightedBackend,
    choice: BackendChoice,
    send: SendToBackend,
  ): Promise<Outcome> {
    const { clock } = this.#options;
    const { backend } = target;
    const { request } = exchange;
    const hasAlternative = choice.hasNext();
    const limitMs = this.#limitOf(exchange, backend, choice);
    try {
      const outcome = await send({ target, hasAlternative, limitMs }, exchange);
      const { response, isUpstream } = outcome;
      if (!isUpstream) return outcome;
      const isReplaceable = hasAlternative && route.choice?.isLlm === true &&
        route.replaysFailures === true;
      if (isReplaceable && isWholeAnswer(response)) {
        const { cancellation, held } = request;
        await awaitAnswer(response, { held, clock, cancellation });
      }
      const leavesFilters = route.choice?.leavesFilters === true;
      const limit = {
        clock,
        limitMs: route.backendTimeoutMs ?? limitMs ?? 0,
        code: "upstream_timeout",
        backend: backend?.key ?? "",
      } as const;
      const holdsStream = isEventStream(response) &&
        (route.replaysFailures === true || route.choice?.hedgeMs !== undefined);
      if (!holdsStream && !leavesFilters) return outcome;
      await withinLimit(request.cancellation, limit, async (cancellation) => {
        const first = holdsStream
          ? await awaitFirstEvent(response, cancellation)
          : undefined;
        if (leavesFilters) await watchFilter(exchange, response, first);
      });
      return outcome;
    } catch (error) {
      return toGatewayError(error);
    }
  }

  /** Returns the limit of the time to a response, after which another backend gets the request; `undefined` for none. */
  #limitOf(
    exchange: Exchange,
    backend: Backend | undefined,
    choice: BackendChoice,
  ): number | undefined {
    if (backend === undefined) return undefined;
    const { cooldowns } = this.#options;
    const { model, isStreaming } = choice.requested;
    const trialMs = cooldowns.sent(backend, isTimed(exchange));
    if (!choice.hasNext() || !choice.mayRepeat) return undefined;
    const { failoverAfterMs } = backend;
    if (trialMs > 0 || failoverAfterMs === undefined) {
      return trialMs || failoverAfterMs;
    }
    // How long a whole answer takes depends on its length.
    if (!isStreaming) return failoverAfterMs;
    const { samples, usualMs } = cooldowns.models.of(backend, model).stream;
    const limitMs = samples < MIN_SAMPLES
      ? STREAM_FAILOVER_MS
      : Math.max(MIN_FAILOVER_MS, USUAL_FACTOR * usualMs);
    return Math.min(limitMs, failoverAfterMs);
  }

  #recordTime(
    { state, sent, choice, exchange }: MeasuredAttempt,
    outcome: Outcome,
    failure: string | undefined,
  ): void {
    const { clock } = this.#options;
    state.ended(sent);
    const response = responseOf(outcome);
    if (response !== undefined) state.responded(response.headers, clock);
    if (!isTimed(exchange)) return;
    const now = clock.monotonic();
    const tookMs = now - sent.startedAt;
    const isStream = response === undefined
      ? choice.requested.isStreaming
      : isEventStream(response);
    const times = isStream ? state.stream : state.whole;
    const isGood = response !== undefined && failure === undefined;
    // An attempt that was given up would have taken longer.
    if (isGood || tookMs > times.valueAt(now)) times.observe(tookMs, now);
  }

  #recordEnd(
    exchange: Exchange,
    backend: Backend,
    outcome: Outcome,
    model: string | undefined,
  ): void {
    const { cooldowns } = this.#options;
    if (outcome instanceof GatewayError || !outcome.isUpstream) {
      return cooldowns.abandoned(backend);
    }
    const { attemptStartedAt = 0, endedAt } = exchange.attempts ?? {};
    const latencyMs = endedAt && isTimed(exchange)
      ? endedAt - attemptStartedAt
      : undefined;
    cooldowns.succeeded(backend, latencyMs, model);
  }
}

/** Reports whether the time to the response is that of the backend; the body of a request for a group of LLM providers was read before. */
function isTimed({ request, routed: { route } }: Exchange): boolean {
  return route?.choice?.isLlm === true && request.upgrade === undefined ||
    isPrompt(request);
}
