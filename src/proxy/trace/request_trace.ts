import { NANO_USD } from "../../base/log/log_text.ts";
import { llmApiFacts } from "../../llm/llm_api.ts";
import type { UsageMeter } from "../metering/meter/usage_meter.ts";
import { describeError } from "../../base/errors.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { Listener, Route } from "../../snapshot/snapshot.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import type {
  LlmUsage,
  PolicySelection,
} from "../../telemetry/trace/trace_event.ts";
import { PolicyRecorder } from "./policy_recorder.ts";
import { describeMirrors, type TracedRequest } from "./request_state.ts";
import { TraceRecorder, type TraceRecorderOptions } from "./trace_recorder.ts";

/** A hostname may have thousands of routes. */
const MAX_ROUTES = 256;

/** Dependencies of a trace. */
export interface RequestTraceOptions extends TraceRecorderOptions {
  readonly sensitiveHeaders: ReadonlySet<string>;
}

/**
 * Records one request for a watcher. Everything is read and redacted at once, so later changes do
 * not show in earlier events.
 */
export class RequestTrace {
  readonly policies: PolicyRecorder;
  readonly #exchange: TracedRequest;
  readonly #recorder: TraceRecorder;
  readonly #sensitiveHeaders: ReadonlySet<string>;

  constructor(exchange: TracedRequest, options: RequestTraceOptions) {
    this.#exchange = exchange;
    this.#recorder = new TraceRecorder(exchange, options);
    this.policies = new PolicyRecorder(this.#recorder);
    this.#sensitiveHeaders = options.sensitiveHeaders;
    this.#recorder.emit({ type: "requestStarted" });
    this.#recorder.snapshotRequest("initial request");
  }

  /** Called before the policies of a phase run. */
  phaseStarts(
    phase: PolicySelection["phase"],
    { describePolicies, mirrors }:
      & Pick<Route, "describePolicies">
      & Partial<Pick<Route, "mirrors">>,
  ): void {
    this.policies.phaseStarts(phase);
    // The policies have not made the changes up to here.
    this.#recorder.read();
    const effectivePolicy = {
      ...describePolicies(this.#sensitiveHeaders),
      ...(mirrors && { requestMirror: describeMirrors(mirrors) }),
    };
    this.#recorder.emit({ type: "policySelection", phase, effectivePolicy });
  }

  /** Called when the policies of a phase have let the request pass. */
  phaseEnds(stage: "gateway policies" | "route policies"): void {
    this.#recorder.snapshotRequest(stage);
  }

  /** Called when a route was looked for. */
  routeSelected({ routes }: Listener, route: Route | undefined): void {
    const keys = routes.candidates(this.#exchange.routed.hostname)
      .take(MAX_ROUTES).map(({ key }) => key);
    this.#recorder.emit({
      type: "routeSelection",
      selectedRoute: route?.key ?? null,
      evaluatedRoutes: [...new Set(keys)],
    });
  }

  /** Called before the request goes to the upstream. @param request That of the attempt, which differs from others at the same time. */
  forwards(request: Pick<RequestMessage, "body">): void {
    this.#recorder.snapshotRequest("final request");
    request.body = this.#recorder.capture(request.body, "final request");
  }

  /** Called before each attempt. @param target Address of the endpoint. */
  callStarts(target: string): void {
    this.#recorder.callStarts();
    this.#recorder.emit({ type: "backendCallStart", target });
  }

  /** Records the outcome of an attempt and passes it on. */
  async callEnds(call: Promise<ResponseMessage>): Promise<ResponseMessage> {
    const startedAt = this.#recorder.attemptStartedAt;
    const type = "backendCallResult";
    try {
      const response = await call;
      const { status } = response;
      this.#recorder.emit({ type, status, error: null }, startedAt);
      return response;
    } catch (cause) {
      const error = describeError(cause);
      this.#recorder.emit({ type, status: null, error }, startedAt);
      throw cause;
    }
  }

  /** Called with the upstream's response before it is changed. */
  received(response: ResponseMessage): void {
    this.#recorder.snapshotResponse("raw response", response);
  }

  /** Called with the upstream's response before policies see it. */
  ready(response: ResponseMessage): void {
    this.#recorder.snapshotResponse("backend response ready", response);
  }

  /** Called before the response hooks run. */
  responseHooksStart(response: ResponseMessage): void {
    // The hooks have not made the changes up to here.
    this.#recorder.read(response);
  }

  /** Called before the response goes to the client. */
  responseStarts(response: ResponseMessage): void {
    this.#recorder.snapshotResponse("final response", response);
    response.body = this.#recorder.capture(response.body, "response");
  }

  /** Called after the last byte, or when the client left. */
  finished({ status, reason, error }: FinishedRequest): void {
    this.#recorder.endBodies();
    const usage = describeUsage(this.#exchange.meter);
    if (usage !== undefined) this.#recorder.emit(usage);
    this.#recorder.emit({
      type: "requestFinished",
      status,
      error: error ?? null,
      reason,
    });
  }
}

/** Describes the token usage of a request; `undefined` when no LLM responded. The provider is known by its API. */
function describeUsage(
  meter: UsageMeter | undefined,
): LlmUsage | undefined {
  const usage = meter?.counts.usage;
  if (usage === undefined) return undefined;
  return {
    type: "llmUsage",
    provider: meter?.api === undefined
      ? "unknown"
      : llmApiFacts(meter.api).provider,
    model: usage.responseModel ?? null,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    debit: usage.totalTokens,
    ...(usage.isPriced && { costUsd: usage.nanoUsd / NANO_USD }),
  };
}
