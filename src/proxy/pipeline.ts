import type { Log } from "../base/log/log.ts";
import type { TokenUsage } from "../llm/usage/token_usage.ts";
import type {
  Reply,
  RequestMessage,
  ResponseMessage,
} from "../http/message.ts";
import { clientKey } from "../base/wire/ip_address.ts";
import { clientOf } from "../policy/authentication/request_identity.ts";
import {
  removeForeignLogins,
  removeLoginCookies,
} from "../identity/openid/login_cookies.ts";
import { normalizeTarget } from "../route/normalize_target.ts";
import type { PortId, Route, WeightedBackend } from "../snapshot/snapshot.ts";
import { awaitShortBody } from "./body/early_body.ts";
import { limitBody } from "./body/limited_body.ts";
import { Exchange, type ExchangeOptions } from "./exchange/exchange.ts";
import { ExchangeReply, type FinishObserver } from "./finish.ts";
import type { BackendAttempt } from "./request/attempts.ts";
import type { Failover } from "./failover/failover.ts";
import type { BackendResponse } from "./failover/outcome.ts";
import type { Forwarder } from "./forwarder.ts";
import { inClientForm } from "./llm/llm_error_form.ts";
import type { GatewayPages } from "./request/gateway_pages.ts";
import {
  addForwardingHeaders,
  addVia,
  setIfAbsent,
  type TrustsPeer,
} from "./request/forwarding_headers.ts";
import { createMeter, type MeterServices } from "./metering/meters.ts";
import { respondToError, toGatewayError } from "./request/respond.ts";
import type { RequestSpans } from "./exchange/request_spans.ts";
import type { Tracing } from "./exchange/tracing.ts";

/** Dependencies of the pipeline. */
export interface PipelineOptions extends ExchangeOptions, MeterServices {
  readonly forwarder: Forwarder;
  readonly failover: Failover;
  readonly tracing: Tracing;
  /** `undefined` where requests have no spans. */
  readonly spans: RequestSpans | undefined;
  readonly log: Log;
  readonly trustsPeer: TrustsPeer;
  /** `undefined` where the gateway has no pages of its own. */
  readonly pages?: GatewayPages | undefined;
  /** Larger request bodies are rejected; unlimited if `undefined`. */
  readonly maxBodyBytes: number | undefined;
  /** Limit of bytes that are buffered to read a body. */
  readonly maxBufferBytes: number;
  /** The same for requests to LLMs. */
  readonly maxLlmBodyBytes: number;
  /** Receives the parts of what an exchange uses that stays open. */
  readonly onUsed?:
    | ((exchange: Exchange, usage: TokenUsage) => void)
    | undefined;
  readonly onFinish: FinishObserver;
}

/**
 * Carries a request from its listener to the upstream and the response back.
 *
 * Gateway-phase policies → route → route-phase policies → backend → backend-phase policies → upstream call → response hooks in reverse.
 */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #onFinish: FinishObserver;
  #underWay = 0;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#onFinish = (...finished) => {
      this.#underWay--;
      options.onFinish(...finished);
    };
  }

  /** Requests whose responses are not delivered yet. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Handles a request that arrived on `port`; never throws. */
  async handle(request: RequestMessage, port: PortId): Promise<Reply> {
    const exchange = new Exchange(request, port, this.#options);
    this.#underWay++;
    exchange.trace = this.#options.tracing.begin(exchange);
    exchange.span = this.#options.spans?.begin(exchange);
    let response: ResponseMessage;
    try {
      response = await this.#process(exchange);
      if (exchange.policyRun?.rejection !== undefined) {
        response = inClientForm(exchange, response);
      }
    } catch (error) {
      response = reject(exchange, error);
    }
    if (exchange.policyRun !== undefined) {
      response = await exchange.policyRun.handleResponse(
        response,
        (error) => reject(exchange, error),
      );
    }
    addVia(response.headers, "1.1");
    const failedOver = exchange.attempts?.failedOver ?? [];
    if (failedOver.length > 0) {
      response.headers.set("x-gateway-failover", failedOver.join(", "));
    }
    // LLM providers have request ids of their own, which their SDKs and support staff use.
    setIfAbsent(response.headers, "x-request-id", exchange.requestId);
    exchange.response = response;
    exchange.trace?.responseStarts(response);
    return new ExchangeReply(exchange, response, this.#onFinish);
  }

  async #process(exchange: Exchange): Promise<ResponseMessage> {
    const { request, routed, listeners, trace } = exchange;
    const { maxBodyBytes } = this.#options;
    const listener = routed.enterListener(listeners);
    // One spelling of the path for routing, policies and upstream.
    request.target = normalizeTarget(request.target);
    limitBody(request, maxBodyBytes);
    trace?.phaseStarts("gateway", listener);
    if (listener.policies.length > 0) {
      const early = await exchange.runPolicies(listener.policies);
      if (early !== undefined) return early;
    }
    trace?.phaseEnds("gateway policies");

    const { pages } = this.#options;
    const page = pages && await pages.serve(request);
    if (page !== undefined) return page;
    if (listener.readsModel) await routed.readModel();
    const match = routed.findRoute();
    trace?.routeSelected(listener, match?.value);
    const route = routed.enterRoute(match);
    trace?.phaseStarts("route", route);
    if (route.policies.length > 0) {
      const early = await exchange.runPolicies(route.policies);
      if (early !== undefined) return early;
    }
    trace?.phaseEnds("route policies");

    const unread = awaitShortBody(request);
    if (unread !== undefined) await unread;
    const { response, isUpstream } = await this.#respond(exchange, route);
    if (isUpstream) {
      exchange.meter?.watch(response);
      trace?.ready(response);
    }
    return response;
  }

  #respond(exchange: Exchange, route: Route): Promise<BackendResponse> {
    if (route.groups !== undefined) {
      return this.#sendToAny(exchange, route, route.groups);
    }
    const target = exchange.routed.onlyBackend(route);
    return this.#sendToBackend(exchange, route, { target });
  }

  /** Sends to one of several backends. */
  async #sendToAny(
    exchange: Exchange,
    route: Route,
    groups: NonNullable<Route["groups"]>,
  ): Promise<BackendResponse> {
    const { forwarder, failover } = this.#options;
    const pending = forwarder.findSession(exchange, route);
    const session = pending && await pending;
    const owner = session?.owner;
    if (owner !== undefined && session?.isFixed === true) {
      return this.#sendToBackend(exchange, route, { target: owner });
    }
    return await failover.send(
      { exchange, route, groups, preferred: owner },
      (attempt, own) => this.#sendToBackend(own, route, attempt),
    );
  }

  async #sendToBackend(
    exchange: Exchange,
    route: Route,
    attempt: BackendAttempt,
  ): Promise<BackendResponse> {
    const { target } = attempt;
    const { routed, trace } = exchange;
    routed.backend = target.backend;
    this.#logTarget(exchange, route, target);
    trace?.phaseStarts("backend", target);
    if (target.policies.length > 0) {
      const early = await exchange.runPolicies(target.policies);
      if (early !== undefined) return { response: early, isUpstream: false };
    }
    const { forwarder, spans, onUsed } = this.#options;
    const meter = createMeter(exchange, this.#options, (usage) => {
      onUsed?.(exchange, usage);
    });
    exchange.meter = meter;
    const pending = meter?.prepare(
      exchange.request,
      meter.api === undefined
        ? this.#options.maxBufferBytes
        : this.#options.maxLlmBodyBytes,
    );
    if (pending !== undefined) await pending;
    if (spans !== undefined) await spans.readBody(exchange);
    removeLoginCookies(exchange.request.headers);
    this.#addHeaders(exchange);
    trace?.forwards(exchange.request);
    const response = await forwarder.forward(exchange, route, attempt);
    removeForeignLogins(response.headers);
    trace?.received(response);
    return { response, isUpstream: true };
  }

  /** Adds what the gateway tells the backend. */
  #addHeaders(exchange: Exchange): void {
    const { request, requestId, originalRequest, routed } = exchange;
    const address = clientKey(exchange.client.address);
    const identity = clientOf(exchange.slots);
    request.owners = identity === ""
      ? [address]
      : [address, `identity ${identity}`];
    // MCP servers behind an endpoint get requests of the gateway's own.
    if (routed.backend?.mcp === undefined) {
      addForwardingHeaders(
        request,
        requestId,
        originalRequest.authority,
        this.#options.trustsPeer(request.source),
      );
    }
    exchange.span?.inject(request.headers);
  }

  #logTarget(
    { requestId }: Exchange,
    route: Route,
    { backend, problem }: WeightedBackend,
  ): void {
    const { log } = this.#options;
    if (!log.isEnabled("debug")) return;
    log.debug("Route chosen", {
      "request.id": requestId,
      route: route.key,
      backend: backend?.key,
      problem,
    });
  }
}

function reject(exchange: Exchange, error: unknown): ResponseMessage {
  exchange.trace?.policies.requestFailed(error);
  exchange.error = toGatewayError(error);
  return inClientForm(exchange, respondToError(exchange.error));
}
