import type { Cancellation } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Body } from "../http/body.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { Backend, Route, WeightedBackend } from "../snapshot/snapshot.ts";
import type { Exchange } from "./exchange.ts";
import type { Mirrors } from "./mirrors.ts";
import { sendUntilGood } from "./retry.ts";
import { type TimeLimit, withinLimit } from "./time_limit.ts";
import type { Sender, Upstreams } from "./upstreams.ts";

/** What the forwarder needs of its surroundings. */
export interface ForwarderOptions {
  readonly upstreams: Upstreams;
  readonly mirrors: Mirrors;
  readonly clock: Clock;
  readonly log: Log;
}

/** One request to one backend. */
interface Call {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly backend: Backend;
  readonly upstream: Sender;
}

/** Sends requests to backends: mirrors, time limits, tries. */
export class Forwarder {
  readonly #options: ForwarderOptions;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /**
   * The upstream's response, as soon as its head is here.
   * @throws {GatewayError} When the backend does not resolve, cannot be reached, fails or is late.
   */
  async forward(
    exchange: Exchange,
    route: Route,
    target: WeightedBackend,
  ): Promise<ResponseMessage> {
    const { clock, mirrors } = this.#options;
    if (route.mirrors.length > 0) mirrors.send(exchange, route.mirrors);
    const startedAt = clock.monotonic();
    exchange.triedAt = startedAt;
    try {
      return await this.#sendInTime(this.#resolve(exchange, route, target));
    } finally {
      exchange.answeredAt = clock.monotonic();
      exchange.upstreamMs = exchange.answeredAt - startedAt;
    }
  }

  #resolve(exchange: Exchange, route: Route, target: WeightedBackend): Call {
    const { backend, problem } = target;
    if (backend === undefined) {
      const message = problem ?? "Backend not found";
      throw new GatewayError("invalid_backend", "gateway", message);
    }
    const upstream = this.#options.upstreams.get(backend);
    return { exchange, route, backend, upstream };
  }

  /** Every try together, within the route's time limit. */
  #sendInTime(call: Call): Promise<ResponseMessage> {
    const { exchange, route, backend } = call;
    const limit: TimeLimit = {
      clock: this.#options.clock,
      limitMs: route.requestTimeoutMs ?? 0,
      code: "route_timeout",
      backend: backend.key,
    };
    return withinLimit(
      exchange.request.cancellation,
      limit,
      (cancellation) => this.#sendWithRetries(call, cancellation),
    );
  }

  #sendWithRetries(
    call: Call,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const { exchange, route: { retry } } = call;
    const send = (body: Body | undefined) =>
      this.#sendOnce(call, body, cancellation);
    if (retry === undefined) return send(exchange.request.body);
    const { clock, log } = this.#options;
    return sendUntilGood(exchange, retry, cancellation, { clock, log, send });
  }

  /** One try, within the limit for each. */
  #sendOnce(
    { exchange, route, backend, upstream }: Call,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const limit: TimeLimit = {
      clock: this.#options.clock,
      limitMs: route.backendTimeoutMs ?? 0,
      code: "upstream_timeout",
      backend: backend.key,
    };
    const { request, requestTrace } = exchange;
    requestTrace?.callStarts(backend);
    const call = withinLimit(
      cancellation,
      limit,
      (limited) => upstream.send(request, body, limited),
    );
    return requestTrace === undefined ? call : requestTrace.callEnds(call);
  }
}
