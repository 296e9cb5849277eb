import type { ResponseMessage } from "../../http/message.ts";
import type {
  RequestVerdict,
  RunningPolicy,
} from "../../policy/contract/policy.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import { Rejection } from "../../policy/contract/rejection.ts";
import type {
  AuthorizationResult,
  PolicyEvent,
  PolicyResult,
  PolicySelection,
  PolicyVerdict,
} from "../../telemetry/trace/trace_event.ts";
import { severityOfResult } from "../../telemetry/trace/trace_severity.ts";
import type { JsonValue } from "../../base/json.ts";
import { PolicyWaits } from "./policy_waits.ts";
import { statusOf, toGatewayError } from "../request/respond.ts";
import type { TraceRecorder } from "./trace_recorder.ts";

/** Records the policies of one request: their results, and what they report. */
export class PolicyRecorder implements PolicyTrace {
  readonly #recorder: TraceRecorder;
  readonly #waits: PolicyWaits;
  readonly #phases = new Map<RunningPolicy, PolicySelection["phase"]>();
  #phase: PolicySelection["phase"] = "gateway";
  #running: RunningPolicy | undefined;
  #runningSince = 0;
  /** When the running policy began to wait; `undefined` while it has not waited. */
  #waitsSince: number | undefined;
  /** The result that the running policy reported. */
  #reported: PolicyResult["result"] | undefined;
  /** Kinds of the reports so far. */
  readonly #reportedKinds = new Set<string>();

  constructor(recorder: TraceRecorder) {
    this.#recorder = recorder;
    this.#waits = new PolicyWaits(recorder);
  }

  /** Sets the phase of the policies that start from now on. */
  phaseStarts(phase: PolicySelection["phase"]): void {
    this.#phase = phase;
  }

  starts(policy: RunningPolicy): void {
    this.#running = policy;
    this.#runningSince = this.#recorder.now();
    this.#reported = undefined;
    this.#phases.set(policy, this.#phase);
  }

  /** Called when the running policy returned a promise: its events then have a duration. */
  waits(): void {
    this.#waitsSince = this.#runningSince;
  }

  ends(policy: RunningPolicy, verdict: RequestVerdict): void {
    this.#running = undefined;
    if (policy.onRequest === undefined) return;
    if (verdict instanceof Rejection && verdict.verdict !== undefined) {
      this.report(verdict.verdict);
    } else this.#emitResult(policy, resultOf(verdict, this.#reported));
    this.#waitsSince = undefined;
    if (verdict === undefined) this.#snapshotChange(policy);
  }

  /** Called when the request failed, and with it the running policy, if any. */
  requestFailed(error: unknown): void {
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

  /** Called when the response hook of a policy has run. */
  responseHookEnded(policy: RunningPolicy, response: ResponseMessage): void {
    if (!this.#recorder.hasResponseChanged(response)) return;
    // The others have reported when they saw the request.
    if (policy.onRequest === undefined) this.#emitResult(policy, applied(null));
    const stage = this.#stageOf(policy, "response");
    this.#recorder.snapshotResponse(stage, response);
  }

  skip(reason: string): void {
    this.#reported = { type: "skip", reason };
  }

  apply(details: JsonValue): void {
    this.#reported = applied(details);
  }

  evaluated(expr: string, result: JsonValue): void {
    const requestState = this.#recorder.read();
    this.#recorder.emit({ type: "cel", expr, requestState, result });
  }

  report(message: PolicyVerdict | PolicyEvent): void {
    if (message.type === "authorizationResult") this.#emitRules(message);
    else this.#reportedKinds.add(message.kind);
    this.#recorder.emit(message, this.#waitsSince);
    // The next report of the policy covers the time from here on.
    if (this.#waitsSince !== undefined) {
      this.#waitsSince = this.#recorder.now();
    }
  }

  waitsFor<T>(whom: string, value: Promise<T>): Promise<T> {
    const kind = this.#running?.kind.trace.event;
    return kind === undefined ? value : this.#waits.follow(kind, whom, value);
  }

  #emitRules({ rules }: AuthorizationResult): void {
    const requestState = this.#recorder.read();
    for (const { name: expr, matched, error } of rules) {
      const result = error === undefined ? matched : { error };
      this.#recorder.emit({ type: "cel", expr, requestState, result });
    }
  }

  #emitResult({ kind }: RunningPolicy, result: PolicyResult["result"]): void {
    const { trace: { event }, identity } = kind;
    if (event === undefined) return;
    const message = { type: "policy", kind: event, result } as const;
    const severity = severityOfResult(message, identity !== undefined);
    this.#recorder.emit(message, this.#waitsSince, severity);
  }

  #snapshotChange(policy: RunningPolicy): void {
    if (!this.#recorder.hasRequestChanged()) return;
    this.#recorder.snapshotRequest(this.#stageOf(policy, "request"));
  }

  #stageOf(policy: RunningPolicy, side: "request" | "response"): string {
    const phase = this.#phases.get(policy) ?? "route";
    const stage = policy.kind.trace.stageOf(side, this.#reportedKinds);
    return phase === "route" ? stage : `${phase} ${stage}`;
  }
}

/** Returns the result of a policy. @param reported The result that the policy reported itself. */
function resultOf(
  verdict: RequestVerdict,
  reported: PolicyResult["result"] | undefined,
): PolicyResult["result"] {
  if (verdict instanceof Rejection) {
    const { message, response: { status } } = verdict;
    return { type: "reject", status, reason: message };
  }
  if (verdict === undefined) return reported ?? applied(null);
  return applied({ status: verdict.status });
}

function applied(details: JsonValue): PolicyResult["result"] {
  return { type: "apply", details, snapshot: null };
}
