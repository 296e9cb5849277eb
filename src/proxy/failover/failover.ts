import type { Clock } from "../../base/clock.ts";
import { GatewayError, type GatewayErrorCode } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type {
  BackendGroup,
  Route,
  WeightedBackend,
} from "../../snapshot/snapshot.ts";
import { ReplayableBody } from "../body/replayable_body.ts";
import type { Exchange } from "../exchange.ts";
import { toGatewayError } from "../respond.ts";
import { withinLimit } from "../time_limit.ts";
import type { Cooldowns } from "./cooldowns.ts";
import { awaitFirstEvent, isEventStream } from "./first_event.ts";

/** Errors that another backend may not have. */
const backendErrors: ReadonlySet<GatewayErrorCode> = new Set([
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

/** Stands for backends of references that do not resolve. */
const unresolved = { key: "", name: "unknown" };

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
  target: WeightedBackend,
) => Promise<BackendResponse>;

/** Sends requests to the backends of a route by priority, until one is well. */
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
    exchange: Exchange,
    route: Route,
    groups: readonly BackendGroup[],
    send: SendToBackend,
  ): Promise<BackendResponse> {
    const { request } = exchange;
    const original = copyHead(request);
    const body = request.body &&
      new ReplayableBody(
        request.body,
        this.#options.maxBufferBytes,
        request.held,
      );
    const seen = exchange.policyRun?.seen ?? 0;
    const tried = new Set<WeightedBackend>();
    try {
      let target = this.#choose(groups, tried);
      this.#reportResting(exchange, groups, target);
      for (;;) {
        request.body = body?.nextAttempt();
        const outcome = await this.#sendOnce(exchange, route, target, send);
        const reason = reasonOf(outcome);
        const { cooldowns } = this.#options;
        const { backend = unresolved } = target;
        if (reason === undefined) {
          if (isUpstream(outcome)) cooldowns.succeeded(backend.key);
          return resultOf(outcome);
        }
        const restMs = cooldowns.failed(backend, reason, responseOf(outcome));
        tried.add(target);
        const next = body?.replayable === false
          ? undefined
          : this.#chooseNext(groups, tried);
        if (next === undefined) return resultOf(outcome);
        body?.endAttempt();
        responseOf(outcome)?.body?.cancel("failed over");
        this.#record(exchange, target, next, { outcome, reason, restMs });
        restoreHead(request, original);
        exchange.policyRun?.forgetAfter(seen);
        target = next;
      }
    } finally {
      body?.settle();
    }
  }

  async #sendOnce(
    exchange: Exchange,
    route: Route,
    target: WeightedBackend,
    send: SendToBackend,
  ): Promise<BackendResponse | GatewayError> {
    try {
      const outcome = await send(target);
      const { response, isUpstream } = outcome;
      if (!isUpstream || !isEventStream(response)) return outcome;
      const limit = {
        clock: this.#options.clock,
        limitMs: route.backendTimeoutMs ?? 0,
        code: "upstream_timeout",
        backend: target.backend?.key ?? "",
      } as const;
      await withinLimit(
        exchange.request.cancellation,
        limit,
        (cancellation) => awaitFirstEvent(response, cancellation),
      );
      return outcome;
    } catch (error) {
      return toGatewayError(error);
    }
  }

  /** Chooses the first backend; if all rest, the one whose rest ends first. */
  #choose(
    groups: readonly BackendGroup[],
    tried: ReadonlySet<WeightedBackend>,
  ): WeightedBackend {
    const chosen = this.#chooseNext(groups, tried) ??
      groups.flatMap(({ backends }) => backends.filter(hasWeight))
        .toSorted((a, b) => this.#restOf(a) - this.#restOf(b))[0];
    if (chosen !== undefined) return chosen;
    throw new GatewayError(
      "invalid_backend",
      "gateway",
      "No backend of the route has a weight",
    );
  }

  /** Chooses by weight among the backends of the first group that has one which was not tried and does not rest. */
  #chooseNext(
    groups: readonly BackendGroup[],
    tried: ReadonlySet<WeightedBackend>,
  ): WeightedBackend | undefined {
    for (const { backends } of groups) {
      const left = backends.filter((each) =>
        hasWeight(each) && !tried.has(each) && this.#restOf(each) === 0
      );
      const total = left.reduce((sum, { weight }) => sum + weight, 0);
      let ticket = this.#options.random() * total;
      for (const each of left) {
        if (ticket < each.weight) return each;
        ticket -= each.weight;
      }
    }
    return undefined;
  }

  /** Traces the backends that were passed over, because they rest. */
  #reportResting(
    { trace }: Exchange,
    groups: readonly BackendGroup[],
    to: WeightedBackend,
  ): void {
    if (trace === undefined) return;
    const { clock, cooldowns } = this.#options;
    const restsUntil = Object.fromEntries(
      groups.flatMap(({ backends }) => backends).flatMap(({ backend }) => {
        const restMs = backend ? cooldowns.remainingMs(backend.key) : 0;
        if (backend === undefined || restMs === 0) return [];
        return [[backend.key, new Date(clock.now() + restMs).toISOString()]];
      }),
    );
    if (Object.keys(restsUntil).length === 0) return;
    const details = { to: to.backend?.key ?? null, restsUntil };
    trace.policies.report({ type: "policyEvent", kind: "failover", details });
  }

  #restOf({ backend }: WeightedBackend): number {
    return backend === undefined
      ? 0
      : this.#options.cooldowns.remainingMs(backend.key);
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
    const { name } = from.backend ?? unresolved;
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

function hasWeight({ weight }: WeightedBackend): boolean {
  return weight > 0;
}

/** Returns why another backend should get the request; `undefined` when the outcome is final. */
function reasonOf(
  outcome: BackendResponse | GatewayError,
): string | undefined {
  if (outcome instanceof GatewayError) {
    return backendErrors.has(outcome.code) ? outcome.code : undefined;
  }
  const { isUpstream, response: { status } } = outcome;
  return isUpstream && (status === 429 || status >= 500)
    ? String(status)
    : undefined;
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
