import { addressIncludes } from "../../base/wire/bind_address.ts";
import type { Clock } from "../../base/clock.ts";
import type { Cancellation } from "../../base/cancellation.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { Body } from "../../http/body.ts";
import { type BodyMemory, HeldBytes } from "../../http/body_memory.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import type { RunningPolicy } from "../../policy/contract/policy.ts";
import type { Slots } from "../../policy/contract/slot.ts";
import type {
  Listener,
  PortId,
  Snapshot,
  SnapshotStore,
} from "../../snapshot/snapshot.ts";
import type { Attempts } from "../request/attempts.ts";
import type { UsageMeter } from "../metering/meter/usage_meter.ts";
import { requestIdOf, type TrustsPeer } from "../request/forwarding_headers.ts";
import { clientOf } from "../../policy/login/endpoints/client_origin.ts";
import { PolicyRun } from "./policy_run.ts";
import {
  RequestContext,
  type RequestFacts,
} from "../request/request_context.ts";
import { RoutedRequest } from "../request/routed_request.ts";
import type { RequestSpan } from "../trace/spans/request_span.ts";
import type { RequestTrace } from "../trace/request_trace.ts";

/** Dependencies of an exchange. */
export interface ExchangeOptions {
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
  readonly bodyMemory: BodyMemory;
  readonly trustsPeer: TrustsPeer;
}

/**
 * The record of one request, from acceptance to the last byte. Each part has an owner that fills it: routing, policies, the
 * forwarder, the trace; parts that a request does not need are not created.
 */
export class Exchange implements RequestFacts {
  readonly request: RequestMessage;
  /** The peer, or the client that a trusted proxy names. */
  readonly client: RequestMessage["source"];
  /** The configuration in force when the request was accepted; it holds to the end. */
  readonly snapshot: Snapshot;
  /** Port of the configuration that the request arrived on. */
  readonly port: number;
  readonly #arrivedOn: PortId;
  readonly #options: ExchangeOptions;
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
  /** Reason for which the latest backend was chosen among several; `undefined` where weights decide. */
  chosenBecause: string | undefined;
  /** Use of attempts whose answers nobody got; budgets are charged for it with the use of the answer. */
  readonly discarded: { usage: TokenUsage | undefined };
  /** Counts the tokens of the request; `undefined` before it goes upstream, and when they are not needed. */
  meter: UsageMeter | undefined;
  /** Set where requests have spans. */
  span: RequestSpan | undefined;
  /** Error for which the gateway responded in place of the upstream. */
  error: GatewayError | undefined;
  /** Set once the response is on its way to the client. */
  response: ResponseMessage | undefined;
  #adopted: Exchange | undefined;
  #trace: RequestTrace | undefined;
  #context: RequestContext | undefined;

  /** @param origin The exchange of the same request that another attempt is made for. */
  constructor(
    request: RequestMessage,
    arrivedOn: PortId,
    options: ExchangeOptions,
    origin?: Exchange,
  ) {
    const { snapshots, clock, bodyMemory, trustsPeer } = options;
    const { method, authority, target } = request;
    this.request = request;
    this.#options = options;
    this.client = origin?.client ?? clientOf(request, trustsPeer);
    this.snapshot = origin?.snapshot ?? snapshots.current;
    this.port = arrivedOn.port;
    this.#arrivedOn = arrivedOn;
    this.requestId = origin?.requestId ?? requestIdOf(request.headers);
    this.acceptedAt = origin?.acceptedAt ?? clock.now();
    this.startedAt = origin?.startedAt ?? clock.monotonic();
    this.originalRequest = origin?.originalRequest ??
      { method, authority, target };
    this.routed = origin?.routed.fork(request) ?? new RoutedRequest(request);
    this.discarded = origin?.discarded ?? { usage: undefined };
    request.handledBy = origin ?? this;
    // A client of HTTP/2 may leave the responses of many streams unread.
    if (request.body !== undefined || request.version === "2") {
      request.held = new HeldBytes(bodyMemory);
    }
  }

  /** Returns an exchange for an attempt at the same time as others, which changes a request of its own. */
  fork(body: Body | undefined, cancellation: Cancellation): Exchange {
    const { request } = this;
    const headers = request.headers.copy();
    const own = { ...request, headers, body, cancellation, held: undefined };
    own.sendInformational = (...interim) =>
      request.sendInformational(...interim);
    const fork = new Exchange(own, this.#arrivedOn, this.#options, this);
    fork.span = this.span;
    if (this.#context !== undefined) {
      fork.#context = new RequestContext(fork, this.#context.slots);
    }
    fork.#trace = this.#trace;
    fork.context.trace = this.#trace?.policies;
    fork.policyRun = this.policyRun?.fork(fork.context);
    return fork;
  }

  /** Goes on with the outcome of an attempt that `fork` was called for. */
  adopt(fork: Exchange): void {
    this.attempts = fork.attempts;
    this.policyRun = fork.policyRun;
    this.meter = fork.meter;
    this.routed.backend = fork.routed.backend;
    this.#adopted = fork;
  }

  /** Releases the memory for bodies; called when the request is over. */
  release(): void {
    this.request.held?.release();
    this.#adopted?.release();
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
}
