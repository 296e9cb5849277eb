import { addressIncludes } from "../base/wire/bind_address.ts";
import type { Clock } from "../base/clock.ts";
import type { GatewayError } from "../base/errors.ts";
import { type BodyMemory, HeldBytes } from "../http/body_memory.ts";
import type { RequestMessage, ResponseMessage } from "../http/message.ts";
import type { PriceBook } from "../llm/cost/price_book.ts";
import { detectLlmApi } from "../llm/llm_api.ts";
import type { CountedOutputs } from "../llm/batch/counted_outputs.ts";
import {
  isBatchControl,
  readStoredOutput,
} from "../llm/batch/stored_output.ts";
import { llmRequest } from "../policy/expressions/expression_slots.ts";
import type { RunningPolicy } from "../policy/contract/policy.ts";
import type { Slots } from "../policy/contract/slot.ts";
import type { MeteredUsage } from "../llm/usage/metered_usage.ts";
import {
  type UsageListeners,
  usageListeners,
} from "../policy/contract/request_listeners.ts";
import type {
  Listener,
  PortId,
  Snapshot,
  SnapshotStore,
} from "../snapshot/snapshot.ts";
import type { Attempts } from "./attempts.ts";
import { SocketMeter } from "./body/socket_meter.ts";
import { StoredMeter } from "./body/stored_meter.ts";
import { TokenMeter, UnknownUsage } from "./body/token_meter.ts";
import { UncountedSocket } from "./body/uncounted_socket.ts";
import type { UsageMeter, UsageMeterOptions } from "./body/usage_meter.ts";
import { requestIdOf } from "./forwarding_headers.ts";
import { requestWhole } from "./llm/llm_headers.ts";
import { PolicyRun } from "./policies/policy_run.ts";
import {
  RequestContext,
  type RequestFacts,
} from "./policies/request_context.ts";
import { RoutedRequest } from "./routed_request.ts";
import type { RequestSpan } from "./trace/spans/request_span.ts";
import type { RequestTrace } from "./trace/request_trace.ts";

/** Dependencies of an exchange. */
export interface ExchangeOptions {
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
  readonly prices: PriceBook;
  readonly bodyMemory: BodyMemory;
  readonly counted: Pick<CountedOutputs, "count" | "claim">;
  /** Receives the parts of what an exchange uses that stays open. */
  readonly onUsed?:
    | ((exchange: Exchange, usage: MeteredUsage) => void)
    | undefined;
}

/**
 * The record of one request, from acceptance to the last byte. Each part has an owner that fills it: routing, policies, the
 * forwarder, the trace; parts that a request does not need are not created.
 */
export class Exchange implements RequestFacts {
  readonly request: RequestMessage;
  /** The configuration in force when the request was accepted; it holds to the end. */
  readonly snapshot: Snapshot;
  /** Port of the configuration that the request arrived on. */
  readonly port: number;
  readonly #arrivedOn: PortId;
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  /** Monotonic time of acceptance, in milliseconds. */
  readonly startedAt: number;
  /** The request as the client sent it; policies may rewrite `request`. */
  readonly originalRequest: Readonly<
    Pick<RequestMessage, "method" | "authority" | "target">
  >;
  readonly routed: RoutedRequest;
  /** Set once a policy has seen the request. */
  policyRun: PolicyRun | undefined;
  /** Set once the request goes upstream. */
  attempts: Attempts | undefined;
  /** Keys of the backends that were not tried, because they rest; set once the last attempt has failed. */
  passedOver: readonly string[] = [];
  /** Counts the tokens of the request; `undefined` before it goes upstream, and when they are not needed. */
  meter: UsageMeter | undefined;
  /** Set where requests have spans. */
  span: RequestSpan | undefined;
  /** Error for which the gateway responded in place of the upstream. */
  error: GatewayError | undefined;
  /** Set once the response is on its way to the client. */
  response: ResponseMessage | undefined;
  readonly #prices: PriceBook;
  readonly #clock: Clock;
  readonly #counted: ExchangeOptions["counted"];
  readonly #onUsed: ExchangeOptions["onUsed"];
  #trace: RequestTrace | undefined;
  #context: RequestContext | undefined;

  constructor(
    request: RequestMessage,
    arrivedOn: PortId,
    { snapshots, clock, prices, bodyMemory, counted, onUsed }: ExchangeOptions,
  ) {
    this.request = request;
    this.#prices = prices;
    this.#clock = clock;
    this.#counted = counted;
    this.#onUsed = onUsed;
    this.snapshot = snapshots.current;
    this.port = arrivedOn.port;
    this.#arrivedOn = arrivedOn;
    this.requestId = requestIdOf(request.headers);
    this.acceptedAt = clock.now();
    this.startedAt = clock.monotonic();
    const { method, authority, target } = request;
    this.originalRequest = { method, authority, target };
    this.routed = new RoutedRequest(request);
    request.handledBy = this;
    // A client of HTTP/2 may leave the responses of many streams unread.
    if (request.body !== undefined || request.version === "2") {
      request.held = new HeldBytes(bodyMemory);
    }
  }

  /** Listeners of the port. */
  get listeners(): readonly Listener[] {
    const { key, port, address } = this.#arrivedOn;
    const { ports } = this.snapshot;
    const current = ports.find((each) => each.key === key) ??
      // A reload has moved the port, and this connection is not closed yet.
      ports.find((each) =>
        each.port === port && addressIncludes(each.address, address)
      );
    return current?.listeners ?? [];
  }

  /** The request as policies see it. */
  get context(): RequestContext {
    return this.#context ??= new RequestContext(this);
  }

  /** Values that policies left for each other; `undefined` while the context is not needed. */
  get slots(): Slots | undefined {
    return this.#context?.slots;
  }

  /** Set while the request is traced. */
  get trace(): RequestTrace | undefined {
    return this.#trace;
  }

  set trace(trace: RequestTrace | undefined) {
    this.#trace = trace;
    if (trace !== undefined) this.context.trace = trace.policies;
  }

  /** Runs the request hooks of a phase; see `PolicyRun.handleRequest`. */
  runPolicies(
    policies: readonly RunningPolicy[],
  ): Promise<ResponseMessage | undefined> {
    this.policyRun ??= new PolicyRun(this.context, this.#trace, this.span);
    return this.policyRun.handleRequest(policies);
  }

  /** Starts to count the tokens of a request to an LLM, also when no policy needs them. */
  startMeter(): UsageMeter | undefined {
    const listeners = this.slots?.get(usageListeners);
    const { host, port, llm } = this.routed.backend ?? {};
    const options = {
      prices: this.#prices,
      clock: this.#clock,
      counted: this.#counted,
      host,
      port,
      priceHost: llm?.provider.host?.(llm.place) ?? host,
    };
    // Servers may ignore the offer of a protocol, and respond.
    this.meter = this.request.upgrade === undefined
      ? this.#meterResponse(options, listeners)
      : this.#meterSocket(options, listeners) ??
        this.#meterResponse(options, listeners) ??
        (listeners && new UncountedSocket());
    return this.meter;
  }

  #meterResponse(
    options: UsageMeterOptions,
    listeners: UsageListeners | undefined,
  ): UsageMeter | undefined {
    const { originalRequest, request } = this;
    if (listeners !== undefined) requestWhole(request);
    const { method, target } = request;
    const stored = readStoredOutput(method, target);
    if (stored !== undefined) {
      const onUsed = (usage: MeteredUsage) => this.#onUsed?.(this, usage);
      return new StoredMeter(stored, { ...options, onUsed }, listeners);
    }
    if (originalRequest.method !== "POST") return undefined;
    if (isBatchControl(method, target)) {
      if (listeners?.rules.deniesUnknown !== true) return undefined;
      throw new UnknownUsage("those of a batch are counted when it is read");
    }
    // Policies may have rewritten the path to the one that the provider knows.
    const api = detectLlmApi("POST", originalRequest.target) ??
      detectLlmApi(method, target) ?? listeners?.api;
    return listeners === undefined && api === undefined
      ? undefined
      : new TokenMeter(api, options, listeners);
  }

  /** True if the route, a rule or the backend was chosen by the model, or may depend on it. */
  get #dependsOnModel(): boolean {
    const { backend, model } = this.routed;
    return backend?.llm !== undefined || model !== undefined ||
      this.slots?.get(llmRequest)?.requestModel !== undefined;
  }

  #meterSocket(
    options: UsageMeterOptions,
    listeners: UsageListeners | undefined,
  ): UsageMeter | undefined {
    const { originalRequest, request: { method, target, upgrade } } = this;
    const isRealtime = /^websocket$/i.test(upgrade ?? "") &&
      [originalRequest.target, target].some((path) =>
        detectLlmApi(method, path) === "realtime"
      );
    if (isRealtime) {
      const onUsed = (usage: MeteredUsage) => this.#onUsed?.(this, usage);
      const keepsModel = this.#dependsOnModel;
      return new SocketMeter({ ...options, keepsModel, onUsed }, listeners);
    }
    if (listeners?.rules.deniesUnknown !== true) return undefined;
    throw new UnknownUsage(
      "it opens a WebSocket to a path of no known LLM API",
    );
  }
}
