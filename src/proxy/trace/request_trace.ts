import { describeError } from "../../base/errors.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { Backend, Listener, Route } from "../../snapshot/snapshot.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import type { PolicySelection } from "../../telemetry/trace/trace_event.ts";
import { llmUsageOf } from "../body/llm_usage.ts";
import { PolicyRecorder } from "./policy_recorder.ts";
import { describeMirrors, type TracedRequest } from "./request_state.ts";
import { TraceRecorder, type TraceRecorderOptions } from "./trace_recorder.ts";

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

  /** A phase begins; its policies run next. */
  enters(
    phase: PolicySelection["phase"],
    { describePolicies, mirrors }:
      & Pick<Route, "describePolicies">
      & Partial<Pick<Route, "mirrors">>,
  ): void {
    this.policies.enters(phase);
    // What has changed up to here is none of their doing.
    this.#recorder.read();
    const effectivePolicy = {
      ...describePolicies(this.#sensitiveHeaders),
      ...(mirrors && { requestMirror: describeMirrors(mirrors) }),
    };
    this.#recorder.emit({ type: "policySelection", phase, effectivePolicy });
  }

  /** The policies of a phase are through. */
  passed(stage: "gateway policies" | "route policies"): void {
    this.#recorder.snapshotRequest(stage);
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

  /** The request goes to the upstream. */
  forwards(): void {
    this.#recorder.snapshotRequest("final request");
    const { request } = this.#exchange;
    request.body = this.#recorder.capture(request.body, "final request");
  }

  callStarts({ host, port }: Backend): void {
    const target = `${host}:${port}`;
    this.#recorder.callStarts();
    this.#recorder.emit({ type: "backendCallStart", target });
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
    } catch (cause) {
      const error = describeError(cause);
      this.#recorder.emit({ type, status: null, error }, startedAt);
      throw cause;
    }
  }

  /** What the upstream answered, before anything of it is changed. */
  received(response: ResponseMessage): void {
    this.#recorder.snapshotResponse("raw response", response);
  }

  /** The upstream's answer is about to be processed. */
  ready(response: ResponseMessage): void {
    this.#recorder.snapshotResponse("backend response ready", response);
  }

  /** The response hooks run next. */
  responds(response: ResponseMessage): void {
    // What has changed up to here is none of their doing.
    this.#recorder.read(response);
  }

  /** The answer goes to the client. */
  answers(response: ResponseMessage): void {
    this.#recorder.snapshotResponse("final response", response);
    response.body = this.#recorder.capture(response.body, "response");
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
}
