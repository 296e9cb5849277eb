import { type Cancellation, unlessCancelled } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Body } from "../http/body.ts";
import type { RequestMessage, ResponseMessage } from "../http/message.ts";
import type { Backend, Route, WeightedBackend } from "../snapshot/snapshot.ts";
import { Attempts } from "./attempts.ts";
import type { Destination } from "./balancing/attempt_target.ts";
import { hashOf } from "./balancing/hash.ts";
import type { Exchange } from "./exchange.ts";
import { modelSources } from "./llm/model_sources.ts";
import { sendToProvider } from "./llm/llm_sender.ts";
import type { Mirrors } from "./mirrors.ts";
import { sendUntilGood } from "./retry.ts";
import { type TimeLimit, withinLimit } from "./time_limit.ts";
import type { Upstreams } from "./upstreams.ts";

/** Longer bodies are not kept for another attempt. */
const MAX_REPLAY_BYTES = 64 * 1024;

/** Dependencies of the forwarder. */
export interface ForwarderOptions {
  readonly upstreams: Upstreams;
  readonly mirrors: Mirrors;
  readonly clock: Clock;
  readonly log: Log;
  /** Limit of bytes that are buffered to change the body of a request to an LLM. */
  readonly maxBufferBytes: number;
}

/** One request to one backend. */
interface Call {
  readonly exchange: Exchange;
  readonly attempts: Attempts;
  readonly route: Route;
  readonly backend: Backend;
  readonly destination: Destination;
}

/** Sends requests to backends: mirrors, time limits, attempts. */
export class Forwarder {
  readonly #options: ForwarderOptions;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /**
   * Returns the upstream's response as soon as its head has arrived.
   * @throws {GatewayError} When the backend does not resolve, cannot be reached, fails or exceeds a time limit.
   */
  async forward(
    exchange: Exchange,
    route: Route,
    target: WeightedBackend,
  ): Promise<ResponseMessage> {
    const { clock, mirrors } = this.#options;
    const isFirst = exchange.attempts === undefined;
    if (isFirst && route.mirrors.length > 0) {
      mirrors.send(exchange.request, route.mirrors, exchange.trace?.policies);
    }
    const attempts = exchange.attempts ??= new Attempts(clock.monotonic());
    try {
      const call = this.#resolve(exchange, attempts, route, target);
      const response = await this.#sendInTime(call);
      attempts.status = response.status;
      return response;
    } finally {
      attempts.endedAt = clock.monotonic();
    }
  }

  #resolve(
    exchange: Exchange,
    attempts: Attempts,
    route: Route,
    { backend, problem }: WeightedBackend,
  ): Call {
    if (backend === undefined) {
      const message = problem ?? "Backend not found";
      throw new GatewayError("invalid_backend", "gateway", message);
    }
    const destination = this.#options.upstreams.get(backend);
    return { exchange, attempts, route, backend, destination };
  }

  /** Runs all attempts within the route's time limit. */
  #sendInTime(call: Call): Promise<ResponseMessage> {
    const { exchange, attempts, route, backend } = call;
    const { clock } = this.#options;
    const { requestTimeoutMs = 0 } = route;
    // Backends before this one have used a part of the time.
    const usedMs = attempts.failedOver.length === 0
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
    const { retry } = call.route;
    const { clock, log, maxBufferBytes } = this.#options;
    // The body for an LLM provider is read, and changed, before it is sent.
    const maxReplayBytes = backend.llm !== undefined
      ? maxBufferBytes
      : retry === undefined
      ? 0
      : MAX_REPLAY_BYTES;
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
        maxReplayBytes,
        send: (body) => this.#sendOnce(call, body, cancellation),
      },
    );
  }

  /** Runs one attempt within its time limit. */
  async #sendOnce(
    { exchange, attempts, route, backend, destination }: Call,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const limit: TimeLimit = {
      clock: this.#options.clock,
      limitMs: route.backendTimeoutMs ?? 0,
      code: "upstream_timeout",
      backend: backend.key,
    };
    const unprepared = destination.prepare();
    if (unprepared !== undefined) {
      await unlessCancelled(unprepared, cancellation);
    }
    const target = destination.choose(
      attempts.tried,
      keyOf(exchange.request, backend),
    );
    attempts.target = target;
    attempts.providerRequestId = undefined;
    attempts.limitedBy = undefined;
    const { request, trace } = exchange;
    trace?.callStarts(target.label);
    const call = withinLimit(cancellation, limit, (limited) => {
      const { llm } = backend;
      if (llm === undefined) return target.send(request, body, limited);
      const { clock, maxBufferBytes } = this.#options;
      return sendToProvider({
        target: llm,
        upstream: target,
        request,
        body,
        held: request.held,
        cancellation: limited,
        attempts,
        requestId: exchange.requestId,
        trace: trace?.policies,
        clock,
        maxBufferBytes,
        models: () => modelSources(exchange, route, this.#options.upstreams),
      });
    });
    return await (trace === undefined ? call : trace.callEnds(call));
  }
}

/** Returns the hash by which a request keeps its endpoint; `undefined` when any will do. */
function keyOf(
  { headers }: RequestMessage,
  { balancing }: Backend,
): number | undefined {
  const name = balancing?.hashHeader;
  const value = name === undefined ? undefined : headers.getJoined(name);
  return value === undefined ? undefined : hashOf(value);
}
