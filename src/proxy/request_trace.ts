import { describeError } from "../base/errors.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { Policy, RequestVerdict } from "../policy/policy.ts";
import type { PolicyTrace } from "../policy/policy_trace.ts";
import { Refusal } from "../policy/refusal.ts";
import type { Backend, Listener, Route } from "../snapshot/snapshot.ts";
import type { FinishedRequest } from "../telemetry/finished_request.ts";
import type {
  AuthorizationResult,
  PolicyEvent,
  PolicyResult,
  PolicySelection,
  RateLimitResult,
  RequestStage,
  ResponseStage,
} from "../telemetry/trace_event.ts";
import type { JsonValue } from "../telemetry/trace_state.ts";
import type { Exchange } from "./exchange.ts";
import { llmUsageOf } from "./llm_usage.ts";
import { statusOf, toGatewayError } from "./respond.ts";
import { PolicyWaits } from "./policy_waits.ts";
import { describeMirrors } from "./trace_state.ts";
import { TraceRecorder, type TraceRecorderOptions } from "./trace_recorder.ts";
import { applied, resultOf, tracedPolicy } from "./traced_policies.ts";

/** The host of a trace may have very many routes. */
const MAX_ROUTES = 256;

/** What a trace needs of its surroundings. */
export interface RequestTraceOptions extends TraceRecorderOptions {
  readonly sensitiveHeaders: ReadonlySet<string>;
}

/**
 * Records what happens to one request while somebody watches. Everything is read and redacted at once: what a policy does later
 * does not show in what was recorded before.
 */
export class RequestTrace implements PolicyTrace {
  readonly #exchange: Exchange;
  readonly #recorder: TraceRecorder;
  readonly #waits: PolicyWaits;
  readonly #sensitiveHeaders: ReadonlySet<string>;
  readonly #phases = new Map<Policy, PolicySelection["phase"]>();
  #phase: PolicySelection["phase"] = "gateway";
  #running: Policy | undefined;
  #runningSince = 0;
  #hasLocalLimits = false;
  /** Since when the policy that runs had to wait; `undefined` while it had not. */
  #waitsSince: number | undefined;
  /** What the policy that runs said of itself. */
  #said: PolicyResult["result"] | undefined;

  constructor(exchange: Exchange, options: RequestTraceOptions) {
    this.#exchange = exchange;
    this.#recorder = new TraceRecorder(exchange, options);
    this.#waits = new PolicyWaits(this.#recorder);
    this.#sensitiveHeaders = options.sensitiveHeaders;
    this.#recorder.emit({ type: "requestStarted" });
    this.#snapshotRequest("initial request");
  }

  /** A phase begins; its policies run next. */
  enters(
    phase: PolicySelection["phase"],
    { describePolicies, mirrors }:
      & Pick<Route, "describePolicies">
      & Partial<Pick<Route, "mirrors">>,
  ): void {
    this.#phase = phase;
    this.#recorder.hasRequestChanged();
    const effectivePolicy = {
      ...describePolicies(this.#sensitiveHeaders),
      ...(mirrors && { requestMirror: describeMirrors(mirrors) }),
    };
    this.#recorder.emit({ type: "policySelection", phase, effectivePolicy });
  }

  /** The policies of a phase are through. */
  passed(stage: "gateway policies" | "route policies"): void {
    this.#snapshotRequest(stage);
  }

  routed({ routes }: Listener, route: Route | undefined): void {
    const keys = routes.candidates(this.#exchange.hostname)
      .take(MAX_ROUTES).map(({ key }) => key);
    this.#recorder.emit({
      type: "routeSelection",
      selectedRoute: route?.key ?? null,
      evaluatedRoutes: [...new Set(keys)],
    });
  }

  policyStarts(policy: Policy): void {
    this.#running = policy;
    this.#runningSince = this.#recorder.now();
    this.#said = undefined;
    this.#phases.set(policy, this.#phase);
  }

  /** The policy that runs has not decided at once: its events say how long that took. */
  policyWaits(): void {
    this.#waitsSince = this.#runningSince;
  }

  waitsFor<T>(whom: string, answer: Promise<T>): Promise<T> {
    const kind = tracedPolicy(this.#running?.kind ?? "")?.kind;
    return kind === undefined ? answer : this.#waits.follow(kind, whom, answer);
  }

  policyEnds(policy: Policy, verdict: RequestVerdict): void {
    this.#running = undefined;
    if (policy.onRequest === undefined) return;
    if (verdict instanceof Refusal && verdict.verdict !== undefined) {
      this.report(verdict.verdict);
    } else this.#emitResult(policy, resultOf(verdict, this.#said));
    this.#waitsSince = undefined;
    if (verdict !== undefined) return;
    const known = tracedPolicy(policy.kind);
    if (known === undefined) return;
    if (this.#recorder.hasRequestChanged()) {
      const { stage, requestStage = stage } = known;
      this.#snapshotRequest(this.#stageOf(policy, requestStage));
    }
  }

  skip(reason: string): void {
    this.#said = { type: "skip", reason };
  }

  apply(details: JsonValue): void {
    this.#said = { type: "apply", details, snapshot: null };
  }

  evaluated(expr: string, result: JsonValue): void {
    this.#recorder.emit({
      type: "cel",
      expr,
      requestState: this.#recorder.read(),
      result,
    });
  }

  report(message: AuthorizationResult | RateLimitResult | PolicyEvent): void {
    if (message.type === "authorizationResult") {
      const state = this.#recorder.read();
      for (const { name: expr, matched, error } of message.rules) {
        const result = error === undefined ? matched : { error };
        this.#recorder.emit({ type: "cel", expr, requestState: state, result });
      }
    }
    if (message.type === "rateLimit" && message.kind === "local") {
      this.#hasLocalLimits = true;
    }
    this.#recorder.emit(message, this.#waitsSince);
    // What the policy says next, it has waited for from here on.
    if (this.#waitsSince !== undefined) {
      this.#waitsSince = this.#recorder.now();
    }
  }

  /** The request goes to the upstream. */
  forwards(): void {
    this.#snapshotRequest("final request");
    const { request } = this.#exchange;
    request.body = this.#recorder.capture(request.body, "final request");
  }

  callStarts({ host, port }: Backend): void {
    this.#recorder.callStarts();
    this.#recorder.emit({
      type: "backendCallStart",
      target: `${host}:${port}`,
    });
  }

  /** Waits for the outcome of the call and passes it on. */
  async callEnds(call: Promise<ResponseMessage>): Promise<ResponseMessage> {
    const startedAt = this.#recorder.triedAt;
    const type = "backendCallResult";
    try {
      const response = await call;
      const { status } = response;
      this.#recorder.emit({ type, status, error: null }, startedAt);
      return response;
    } catch (error) {
      this.#recorder.emit(
        { type, status: null, error: describeError(error) },
        startedAt,
      );
      throw error;
    }
  }

  /** What the upstream answered, before anything of it is changed. */
  received(response: ResponseMessage): void {
    this.#snapshotResponse("raw response", response);
  }

  /** The upstream's answer is about to be processed. */
  ready(response: ResponseMessage): void {
    this.#snapshotResponse("backend response ready", response);
  }

  /** The response hooks run next. */
  responds(response: ResponseMessage): void {
    this.#recorder.hasResponseChanged(response);
  }

  decorated(policy: Policy | undefined, response: ResponseMessage): void {
    if (policy === undefined) return;
    if (!this.#recorder.hasResponseChanged(response)) return;
    const known = tracedPolicy(policy.kind);
    if (known === undefined) return;
    // The others have told what they did when they saw the request.
    if (policy.onRequest === undefined) this.#emitResult(policy, applied(null));
    const { stage, requestStage = stage } = known;
    const isShared = policy.kind === "rateLimit" && !this.#hasLocalLimits;
    this.#snapshotResponse(
      this.#stageOf(policy, isShared ? requestStage : stage),
      response,
    );
  }

  /** The answer goes to the client. */
  answers(response: ResponseMessage): void {
    this.#snapshotResponse("final response", response);
    response.body = this.#recorder.capture(response.body, "response");
  }

  /** The request ends with an error. */
  failed(error: unknown): void {
    const policy = this.#running;
    this.#running = undefined;
    if (policy === undefined) return;
    this.#waits.giveUp(error);
    const { code, message } = toGatewayError(error);
    this.#emitResult(policy, {
      type: "reject",
      status: statusOf(code),
      reason: message,
    });
    this.#waitsSince = undefined;
  }

  /** The last byte is out, or the client left. */
  finished({ status, reason, error }: FinishedRequest): void {
    this.#recorder.endBodies();
    const usage = llmUsageOf(this.#exchange.meter);
    if (usage !== undefined) this.#recorder.emit(usage);
    this.#recorder.emit({
      type: "requestFinished",
      status,
      error: error ?? null,
      reason,
    });
  }

  #emitResult({ kind: name }: Policy, result: PolicyResult["result"]): void {
    const kind = tracedPolicy(name)?.kind;
    if (kind !== undefined) {
      this.#recorder.emit({ type: "policy", kind, result }, this.#waitsSince);
    }
  }

  #stageOf<Stage extends string>(policy: Policy, stage: Stage) {
    const phase = this.#phases.get(policy) ?? "route";
    return phase === "route" ? stage : `${phase} ${stage}` as const;
  }

  #snapshotRequest(stage: RequestStage): void {
    const requestState = this.#recorder.read();
    this.#recorder.emit({ type: "requestSnapshot", stage, requestState });
  }

  #snapshotResponse(stage: ResponseStage, response: ResponseMessage): void {
    const requestState = this.#recorder.read(response);
    this.#recorder.emit({ type: "responseSnapshot", stage, requestState });
  }
}
