import type { ResponseMessage } from "../../http/message.ts";
import type { Policy, RequestVerdict } from "../../policy/policy.ts";
import type { PolicyTrace } from "../../policy/policy_trace.ts";
import { Refusal } from "../../policy/refusal.ts";
import type {
  AuthorizationResult,
  PolicyEvent,
  PolicyResult,
  PolicySelection,
  RateLimitResult,
} from "../../telemetry/trace/trace_event.ts";
import type { JsonValue } from "../../base/json.ts";
import { PolicyWaits } from "./policy_waits.ts";
import { statusOf, toGatewayError } from "../respond.ts";
import type { TraceRecorder } from "./trace_recorder.ts";
import { applied, resultOf, tracedPolicy } from "./traced_policies.ts";

/** Records what the policies of one request do, and what they tell of it. */
export class PolicyRecorder implements PolicyTrace {
  readonly #recorder: TraceRecorder;
  readonly #waits: PolicyWaits;
  readonly #phases = new Map<Policy, PolicySelection["phase"]>();
  #phase: PolicySelection["phase"] = "gateway";
  #running: Policy | undefined;
  #runningSince = 0;
  /** Since when the policy that runs had to wait; `undefined` while it had not. */
  #waitsSince: number | undefined;
  /** What the policy that runs said of itself. */
  #said: PolicyResult["result"] | undefined;
  #hasLocalLimits = false;

  constructor(recorder: TraceRecorder) {
    this.#recorder = recorder;
    this.#waits = new PolicyWaits(recorder);
  }

  /** Policies that start from now on are of this phase. */
  enters(phase: PolicySelection["phase"]): void {
    this.#phase = phase;
  }

  starts(policy: Policy): void {
    this.#running = policy;
    this.#runningSince = this.#recorder.now();
    this.#said = undefined;
    this.#phases.set(policy, this.#phase);
  }

  /** The policy that runs has not decided at once: its events say how long that took. */
  waits(): void {
    this.#waitsSince = this.#runningSince;
  }

  ends(policy: Policy, verdict: RequestVerdict): void {
    this.#running = undefined;
    if (policy.onRequest === undefined) return;
    if (verdict instanceof Refusal && verdict.verdict !== undefined) {
      this.report(verdict.verdict);
    } else this.#emitResult(policy, resultOf(verdict, this.#said));
    this.#waitsSince = undefined;
    if (verdict === undefined) this.#snapshotChange(policy);
  }

  /** The request failed; so did the policy that runs, if there is one. */
  failed(error: unknown): void {
    const policy = this.#running;
    this.#running = undefined;
    if (policy === undefined) return;
    this.#waits.giveUp(error);
    const { code, message: reason } = toGatewayError(error);
    this.#emitResult(policy, {
      type: "reject",
      status: statusOf(code),
      reason,
    });
    this.#waitsSince = undefined;
  }

  /** The response hook of the policy has run. */
  decorated(policy: Policy, response: ResponseMessage): void {
    if (!this.#recorder.hasResponseChanged(response)) return;
    const known = tracedPolicy(policy.kind);
    if (known === undefined) return;
    // The others have told what they did when they saw the request.
    if (policy.onRequest === undefined) this.#emitResult(policy, applied(null));
    const { stage, requestStage = stage } = known;
    const isGlobal = policy.kind === "rateLimit" && !this.#hasLocalLimits;
    this.#recorder.snapshotResponse(
      this.#stageOf(policy, isGlobal ? requestStage : stage),
      response,
    );
  }

  skip(reason: string): void {
    this.#said = { type: "skip", reason };
  }

  apply(details: JsonValue): void {
    this.#said = applied(details);
  }

  evaluated(expr: string, result: JsonValue): void {
    const requestState = this.#recorder.read();
    this.#recorder.emit({ type: "cel", expr, requestState, result });
  }

  report(message: AuthorizationResult | RateLimitResult | PolicyEvent): void {
    if (message.type === "authorizationResult") this.#emitRules(message);
    if (message.type === "rateLimit" && message.kind === "local") {
      this.#hasLocalLimits = true;
    }
    this.#recorder.emit(message, this.#waitsSince);
    // What the policy says next, it has waited for from here on.
    if (this.#waitsSince !== undefined) {
      this.#waitsSince = this.#recorder.now();
    }
  }

  waitsFor<T>(whom: string, answer: Promise<T>): Promise<T> {
    const kind = tracedPolicy(this.#running?.kind ?? "")?.kind;
    return kind === undefined ? answer : this.#waits.follow(kind, whom, answer);
  }

  #emitRules({ rules }: AuthorizationResult): void {
    const requestState = this.#recorder.read();
    for (const { name: expr, matched, error } of rules) {
      const result = error === undefined ? matched : { error };
      this.#recorder.emit({ type: "cel", expr, requestState, result });
    }
  }

  #emitResult({ kind: name }: Policy, result: PolicyResult["result"]): void {
    const kind = tracedPolicy(name)?.kind;
    if (kind !== undefined) {
      this.#recorder.emit({ type: "policy", kind, result }, this.#waitsSince);
    }
  }

  #snapshotChange(policy: Policy): void {
    const known = tracedPolicy(policy.kind);
    if (known === undefined || !this.#recorder.hasRequestChanged()) return;
    const { stage, requestStage = stage } = known;
    this.#recorder.snapshotRequest(this.#stageOf(policy, requestStage));
  }

  #stageOf<Stage extends string>(policy: Policy, stage: Stage) {
    const phase = this.#phases.get(policy) ?? "route";
    return phase === "route" ? stage : `${phase} ${stage}` as const;
  }
}
