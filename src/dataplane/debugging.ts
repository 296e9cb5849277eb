import type { Settings } from "../api/settings.ts";
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { createSensitiveHeaders } from "../base/redaction.ts";
import type { RequestFilter } from "../policy/http/request_filter.ts";
import type { PolicyRegistry } from "../policy/policy_registry.ts";
import type { Exchange } from "../proxy/exchange.ts";
import {
  describeFailure,
  describeRejected,
  hasFailed,
} from "../proxy/trace/remembered_failures.ts";
import { Tracing } from "../proxy/trace/tracing.ts";
import type { SnapshotStore } from "../snapshot/snapshot.ts";
import { explainFailure } from "../telemetry/failures/explain_failure.ts";
import type { Explanation } from "../telemetry/failures/explanation.ts";
import type { FailedRequest } from "../telemetry/failures/failed_request.ts";
import { failureEvents } from "../telemetry/failures/failure_events.ts";
import { FailureMemory } from "../telemetry/failures/failure_memory.ts";
import type { FinishedRequest } from "../telemetry/log/finished_request.ts";
import type { TraceTurns } from "../telemetry/trace/trace_watchers.ts";
import type {
  FailureReport,
  FailureSummary,
  TraceAnswer,
  TraceQuery,
} from "./data_plane.ts";

/** Dependencies of debugging. */
export interface DebuggingOptions {
  readonly policies: PolicyRegistry;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly snapshots: SnapshotStore;
  /** Returns the next number, from 1, of a request that was rejected before it could be read; by default, counts them. */
  readonly nextRefusal?: (() => number) | undefined;
}

/** Explains failed requests: traces for watchers, and a memory of recent failures. */
export class Debugging {
  readonly tracing: Tracing;
  readonly #policies: PolicyRegistry;
  readonly #snapshots: SnapshotStore;
  readonly #memory: FailureMemory;
  readonly #nextRefusal: () => number;

  constructor(options: DebuggingOptions) {
    const { settings, clock, snapshots, policies } = options;
    this.#policies = policies;
    let refusals = 0;
    this.#nextRefusal = options.nextRefusal ?? (() => ++refusals);
    const { failureMemory: { enabled, size }, sensitiveHeaders } = settings;
    this.tracing = new Tracing({
      clock,
      sensitiveHeaders: createSensitiveHeaders(sensitiveHeaders),
    });
    this.#snapshots = snapshots;
    this.#memory = new FailureMemory(enabled ? size : 0);
  }

  async traceNext(
    { filter, gateway, port, count = 1 }: TraceQuery,
    turns?: TraceTurns,
  ): Promise<TraceAnswer> {
    let compiled: RequestFilter | undefined;
    try {
      compiled = filter === undefined ? undefined : await compileFilter(filter);
    } catch (error) {
      return { rejection: "filter", message: describeError(error) };
    }
    const wanted = { filter: compiled, gateway, port, count, turns };
    const stream = this.tracing.watch(wanted);
    return stream === undefined ? tooManyWatchers : { stream };
  }

  /** Remembers a finished request if it failed. */
  finished(request: FinishedRequest, exchange: Exchange): void {
    if (!this.#memory.isOn || !hasFailed(request)) return;
    const redactor = this.tracing.createRedactor(exchange.snapshot);
    this.#memory.remember(describeFailure(exchange, request, redactor));
  }

  /** Remembers a request rejected before it could be read. */
  rejected(request: FinishedRequest): void {
    if (!this.#memory.isOn) return;
    const redactor = this.tracing.createRedactor(this.#snapshots.current);
    const id = `refused-${this.#nextRefusal()}`;
    this.#memory.remember(describeRejected(id, request, redactor));
  }

  /** Number of remembered failures, and how many fit. */
  get memoryFill(): FailureMemory["fill"] {
    return this.#memory.fill;
  }

  /** Lists failures, newest first. */
  failures(): readonly FailureSummary[] {
    return this.#memory.list().map((failed) => this.#summarize(failed));
  }

  failure(id: string): FailureReport | undefined {
    const failed = this.#memory.find(id);
    if (failed === undefined) return undefined;
    const { failing = null, advice } = this.#explain(failed);
    const { finished: { durationMs, retries } } = failed;
    return {
      ...this.#summarize(failed),
      failing,
      advice,
      durationMs: durationMs ?? null,
      retries,
      events: failureEvents(failed, this.#policies.rejections),
    };
  }

  #explain(failed: FailedRequest): Explanation {
    return explainFailure(failed, this.#policies.rejections);
  }

  #summarize(failed: FailedRequest): FailureSummary {
    const { id, route, backend, finished } = failed;
    const { time, status, reason, method, host, path, gateway } = finished;
    return {
      id,
      time: new Date(time).toISOString(),
      status,
      reason,
      method,
      host,
      path,
      gateway: gateway ?? null,
      route: route ?? null,
      backend: backend?.name ?? null,
      cause: this.#explain(failed).cause,
    };
  }
}

/** Answers a trace query when all watchers are in use. */
export const tooManyWatchers = {
  rejection: "watchers",
  message: "too many watchers",
} satisfies TraceAnswer;

/** Compiles a filter; loads the expression library on first use. */
export async function compileFilter(text: string): Promise<RequestFilter> {
  const { compileRequestFilter } = await import(
    "../policy/http/request_filter.ts"
  );
  return compileRequestFilter(text);
}
