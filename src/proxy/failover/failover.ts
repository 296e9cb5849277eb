import type { Log } from "../../base/log/log.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Body } from "../../http/body.ts";
import type { RequestMessage } from "../../http/message.ts";
import {
  readRequestedModel,
  type RequestedModel,
} from "../../policy/expressions/llm_variable.ts";
import { detectLlmApi } from "../../llm/llm_api.ts";
import type { WeightedBackend } from "../../snapshot/snapshot.ts";
import { ReplayableBody } from "../body/replayable_body.ts";
import type { Exchange } from "../exchange/exchange.ts";
import {
  AttemptRunner,
  type AttemptRunnerOptions,
  type EndedAttempt,
  type SendToBackend,
} from "./attempt_runner.ts";
import { BackendChoice, type GroupedRequest } from "./backend_choice.ts";
import { discardUse } from "./discarded_use.ts";
import { type HedgeOptions, Hedges } from "./hedges.ts";
import {
  type BackendResponse,
  reasonToMove,
  responseOf,
  resultOf,
} from "./outcome.ts";

/** Longer bodies are not kept for another backend, unless `maxLlmBodyBytes` applies. */
const MAX_REPLAY_BYTES = 64 * 1024;

/** Dependencies of failover. */
export interface FailoverOptions
  extends AttemptRunnerOptions, Omit<HedgeOptions, "runner"> {
  readonly log: Log;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Longer request bodies are not kept, so they cannot go to another backend once they are read. */
  readonly maxBufferBytes: number;
  /** Called when a request leaves a backend for another. @param reason Status or error code. */
  readonly onFailover: (backend: string, reason: string) => void;
}

const unknownModel: RequestedModel = { model: undefined, isStreaming: false };

/** Sends requests to the backends of a route, by priority and as the route chooses, until one is well. */
export class Failover {
  readonly #options: FailoverOptions;
  readonly #runner: AttemptRunner;
  readonly #hedges: Hedges;

  constructor(options: FailoverOptions) {
    this.#options = options;
    this.#runner = new AttemptRunner(options);
    this.#hedges = new Hedges({ ...options, runner: this.#runner });
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
    const choice = await this.#createChoice(grouped);
    const hedge = route.choice?.hedgeMs === undefined
      ? undefined
      : await this.#hedges.prepare(grouped);
    const original = copyHead(request);
    const unread = request.body;
    const body = hedge === undefined && unread
      ? this.#keep(unread, grouped)
      : undefined;
    const seen = exchange.policyRun?.seen ?? 0;
    try {
      let target = choice.first();
      this.#reportResting(grouped, choice, target);
      for (;;) {
        exchange.chosenBecause = choice.reason;
        if (hedge === undefined) request.body = body?.nextAttempt() ?? unread;
        const ended = hedge === undefined
          ? await this.#runner.run(grouped, target, choice, send)
          : await this.#hedges.run(grouped, { target, choice, hedge }, send);
        const { outcome, failure } = ended;
        const isGone = body?.replayable === false ||
          hedge === undefined && unread !== undefined && body === undefined &&
            request.body !== unread;
        const reason = isGone
          ? undefined
          : reasonToMove(outcome, failure, exchange, route);
        const next = reason === undefined ? undefined : choice.next();
        if (next === undefined || reason === undefined) {
          if (failure !== undefined) exchange.passedOver = choice.passedOver();
          return resultOf(outcome);
        }
        body?.endAttempt();
        this.#leave(exchange, ended, next, reason);
        restoreHead(request, original);
        exchange.policyRun?.forgetAfter(seen);
        target = next;
      }
    } finally {
      body?.settle();
    }
  }

  async #createChoice(grouped: GroupedRequest): Promise<BackendChoice> {
    const { exchange: { request }, route: { choice } } = grouped;
    const { prices } = this.#options;
    const isRead = choice?.isLlm === true &&
      detectLlmApi(request.method, request.target) !== undefined &&
      request.upgrade === undefined;
    const requested = isRead ? await readRequestedModel(request) : unknownModel;
    if (choice?.policy === "LowestCost" && !prices.isLoaded) {
      await prices.load();
    }
    return new BackendChoice(grouped, requested, this.#options);
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

  /** Traces the backends that were passed over, because they rest. */
  #reportResting(
    { exchange: { trace }, groups }: GroupedRequest,
    { requested: { model } }: BackendChoice,
    to: WeightedBackend,
  ): void {
    if (trace === undefined) return;
    const { clock, cooldowns } = this.#options;
    const restsUntil = Object.fromEntries(
      groups.flatMap(({ backends }) => backends).flatMap(({ backend }) => {
        const restMs = backend
          ? cooldowns.remainingMs(backend, true, model)
          : 0;
        if (backend === undefined || restMs === 0) return [];
        return [[backend.key, new Date(clock.now() + restMs).toISOString()]];
      }),
    );
    if (Object.keys(restsUntil).length === 0) return;
    const details = { to: to.backend?.key ?? null, restsUntil };
    trace.policies.report({ type: "policyEvent", kind: "failover", details });
  }

  /** Leaves a backend for another. */
  #leave(
    exchange: Exchange,
    { target: from, outcome, restMs }: EndedAttempt,
    to: WeightedBackend,
    reason: string,
  ): void {
    const { clock, log, onFailover } = this.#options;
    const { requestId, attempts, trace } = exchange;
    responseOf(outcome)?.body?.cancel("failed over");
    const { withheldUsage } = attempts ?? {};
    if (withheldUsage !== undefined) {
      discardUse(exchange, withheldUsage, this.#options);
    }
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
      reason,
      coolDown,
    };
    trace?.policies.report({ type: "policyEvent", kind: "failover", details });
  }
}

type Head = Pick<RequestMessage, "method" | "authority" | "target" | "headers">;

/** Copies what policies of a backend may change. */
function copyHead({ method, authority, target, headers }: Head): Head {
  return { method, authority, target, headers: headers.copy() };
}

function restoreHead(request: RequestMessage, original: Head): void {
  Object.assign(request, copyHead(original));
}
