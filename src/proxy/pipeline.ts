import { GatewayError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type {
  Reply,
  RequestMessage,
  ResponseMessage,
} from "../http/message.ts";
import { hostnameOf, selectListener } from "../route/hostname.ts";
import { normalizeTarget } from "../route/normalize_target.ts";
import type { Listener, Route, WeightedBackend } from "../snapshot/snapshot.ts";
import { Exchange, type ExchangeOptions } from "./exchange.ts";
import {
  addForwardingHeaders,
  addVia,
  setIfAbsent,
  type TrustsPeer,
} from "./forwarding_headers.ts";
import type { Forwarder } from "./forwarder.ts";
import { limitBody } from "./body/limited_body.ts";
import { respondToError, toGatewayError } from "./respond.ts";
import type { Tracing } from "./trace/tracing.ts";

/** What the pipeline needs of its surroundings. */
export interface PipelineOptions extends ExchangeOptions {
  readonly forwarder: Forwarder;
  readonly tracing: Tracing;
  readonly log: Log;
  readonly trustsPeer: TrustsPeer;
  /** Larger request bodies are refused; no limit unless set. */
  readonly maxBodyBytes: number | undefined;
  /** How much of a body is held in memory where something has to be read in it. */
  readonly maxBufferBytes: number;
  /** Uniform in [0, 1); chooses among weighted backends. */
  readonly random: () => number;
}

/**
 * Carries a request from its listener to the upstream and the response back.
 *
 * Gateway-phase policies → route → route-phase policies → backend → backend-phase policies → upstream call → response hooks in reverse.
 */
export class Pipeline {
  readonly #options: PipelineOptions;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  /** Answers a request that arrived on `port`; never throws. */
  async handle(request: RequestMessage, port: number): Promise<Reply> {
    const exchange = new Exchange(request, port, this.#options);
    exchange.requestTrace = this.#options.tracing.begin(exchange);
    let response: ResponseMessage;
    try {
      response = await this.#process(exchange);
    } catch (error) {
      response = this.#reject(exchange, error);
    }
    if (exchange.seenByPolicies) {
      response = await exchange.runResponseHooks(
        response,
        (error) => this.#reject(exchange, error),
      );
    }
    addVia(response.headers, "1.1");
    // LLM providers have request ids of their own, which their SDKs and their support ask for.
    setIfAbsent(response.headers, "x-request-id", exchange.requestId);
    exchange.response = response;
    exchange.requestTrace?.answers(response);
    return exchange;
  }

  async #process(exchange: Exchange): Promise<ResponseMessage> {
    const listener = enterListener(exchange);
    const { request } = exchange;
    // One spelling of the path for routing, policies and upstream.
    request.target = normalizeTarget(request.target);
    limitBody(request, this.#options.maxBodyBytes);
    exchange.requestTrace?.enters("gateway", listener);
    if (listener.policies.length > 0) {
      const response = await exchange.runRequestHooks(listener.policies);
      if (response !== undefined) return response;
    }
    exchange.requestTrace?.passed("gateway policies");
    const route = enterRoute(exchange, listener);
    exchange.requestTrace?.enters("route", route);
    if (route.policies.length > 0) {
      const response = await exchange.runRequestHooks(route.policies);
      if (response !== undefined) return response;
    }
    exchange.requestTrace?.passed("route policies");
    const target = this.#chooseBackend(route);
    exchange.backend = target.backend;
    const { log } = this.#options;
    if (log.isEnabled("debug")) logChoice(log, exchange, route, target);
    exchange.requestTrace?.enters("backend", target);
    if (target.policies.length > 0) {
      const response = await exchange.runRequestHooks(target.policies);
      if (response !== undefined) return response;
    }
    return await this.#forward(exchange, route, target);
  }

  async #forward(
    exchange: Exchange,
    route: Route,
    target: WeightedBackend,
  ): Promise<ResponseMessage> {
    const { request, requestId, asked } = exchange;
    const meter = exchange.startMeter();
    const { forwarder, maxBufferBytes, trustsPeer } = this.#options;
    if (meter !== undefined) await meter.prepare(request, maxBufferBytes);
    const trusted = trustsPeer(request.source);
    addForwardingHeaders(request, requestId, asked.authority, trusted);
    exchange.requestTrace?.forwards();
    const response = await forwarder.forward(exchange, route, target);
    exchange.upstreamStatus = response.status;
    exchange.requestTrace?.received(response);
    meter?.watch(response);
    exchange.requestTrace?.ready(response);
    return response;
  }

  #reject(exchange: Exchange, error: unknown): ResponseMessage {
    exchange.requestTrace?.policies.failed(error);
    exchange.error = toGatewayError(error);
    return respondToError(exchange.error);
  }

  /** Picks by weight; a reference that does not resolve keeps its share (Gateway API, `HTTPRouteRule.backendRefs`). */
  #chooseBackend(route: Route): WeightedBackend {
    const { backends, totalWeight } = route;
    let ticket = backends.length > 1 ? this.#options.random() * totalWeight : 0;
    for (const candidate of backends) {
      if (ticket < candidate.weight) return candidate;
      ticket -= candidate.weight;
    }
    throw new GatewayError(
      "invalid_backend",
      "gateway",
      `Route "${route.key}" has no backend`,
    );
  }
}

function enterListener(exchange: Exchange): Listener {
  const { hostname } = exchange;
  const listener = selectListener(exchange.listeners, hostname);
  if (listener === undefined) {
    throw new GatewayError(
      "listener_not_found",
      "downstream",
      `No listener for "${hostname}"`,
    );
  }
  exchange.listener = listener;
  expectOwnConnection(exchange, listener);
  return listener;
}

/**
 * A connection that was opened for the name of one listener must not be used to reach another, whose certificate and demands on
 * clients the handshake did not see (Gateway API, `Listener`; RFC 9110 section 15.5.20).
 */
function expectOwnConnection(
  exchange: Exchange,
  listener: Listener,
): void {
  const { request: { serverName }, hostname } = exchange;
  if (serverName === undefined || serverName === hostname) return;
  const opened = selectListener(exchange.listeners, hostnameOf(serverName));
  if (opened === undefined || opened === listener) return;
  throw new GatewayError(
    "misdirected_request",
    "downstream",
    `Cannot answer for "${hostname}" on a connection that was opened for "${serverName}": they belong to different listeners`,
  );
}

function logChoice(
  log: Log,
  { requestId }: Exchange,
  route: Route,
  { backend, problem }: WeightedBackend,
): void {
  log.debug("Route chosen", {
    "request.id": requestId,
    route: route.key,
    backend: backend?.key,
    problem,
  });
}

function enterRoute(exchange: Exchange, listener: Listener): Route {
  const match = listener.routes.find(exchange);
  exchange.requestTrace?.routed(listener, match?.value);
  if (match === undefined) {
    throw new GatewayError(
      "route_not_found",
      "downstream",
      "No route matches the request",
    );
  }
  exchange.route = match.value;
  exchange.matchedPrefix = match.matchedPrefix;
  return match.value;
}
