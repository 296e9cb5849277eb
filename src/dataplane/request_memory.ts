import type { Settings } from "../api/settings.ts";
import type { Clock } from "../base/clock.ts";
import { NANO_USD } from "../base/log_text.ts";
import type { PolicyRegistry } from "../policy/policy_registry.ts";
import type { Exchange } from "../proxy/exchange.ts";
import {
  describeRejected,
  describeRequest,
  hasFailed,
} from "../proxy/trace/remembered_requests.ts";
import type { Tracing } from "../proxy/trace/tracing.ts";
import type { SnapshotStore } from "../snapshot/snapshot.ts";
import { explainFailure } from "../telemetry/failures/explain_failure.ts";
import type { Explanation } from "../telemetry/failures/explanation.ts";
import { failureEvents } from "../telemetry/failures/failure_events.ts";
import type { RecordedRequest } from "../telemetry/failures/recorded_request.ts";
import type { FinishedRequest } from "../telemetry/log/finished_request.ts";
import {
  FairMemory,
  type Numbered,
} from "../telemetry/requests/fair_memory.ts";
import {
  type LoggedRequest,
  type RequestPage,
  type RequestQuery,
  type RequestReport,
  selectRequests,
} from "../telemetry/requests/logged_request.ts";
import { Sampler } from "../telemetry/requests/sampler.ts";
import type { FailureReport, FailureSummary } from "./data_plane.ts";
import { identityOf } from "./usage_row.ts";

/** Requests that succeeded and are recorded, per second, of all workers together. */
const SAMPLED_PER_SECOND = 50;

/** Dependencies of the memory of requests. */
export interface RequestMemoryOptions {
  readonly policies: PolicyRegistry;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly snapshots: SnapshotStore;
  /** Returns the next number, from 1, of a request that was rejected before it could be read; by default, counts them. */
  readonly nextRefusal?: (() => number) | undefined;
  /** Number of data planes that share the memory for successes; default 1. */
  readonly workers?: number | undefined;
  /** Distinguishes the records of several data planes; default 0. */
  readonly thread?: number | undefined;
}

interface Recorded {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly request: RecordedRequest;
}

/** Remembers requests that have ended: failures, and a sample of the others. Neither displaces the other, nor one route or reason another. */
export class RequestMemory {
  readonly #options: RequestMemoryOptions;
  readonly #createRedactor: Tracing["createRedactor"];
  readonly #failures: FairMemory<Recorded>;
  readonly #successes: FairMemory<Recorded>;
  readonly #sampler: Sampler;
  readonly #nextRefusal: () => number;
  #seen = 0;
  #sampled = 0;

  constructor(
    options: RequestMemoryOptions,
    createRedactor: Tracing["createRedactor"],
  ) {
    const { settings: { failureMemory, requestMemory }, workers = 1 } = options;
    this.#options = options;
    this.#createRedactor = createRedactor;
    const sizeOf = (memory: typeof requestMemory, shares: number) =>
      memory.enabled ? Math.ceil(memory.size / shares) : 0;
    this.#failures = new FairMemory(sizeOf(failureMemory, 1));
    this.#successes = new FairMemory(sizeOf(requestMemory, workers));
    this.#sampler = new Sampler(SAMPLED_PER_SECOND / workers);
    let refusals = 0;
    this.#nextRefusal = options.nextRefusal ?? (() => ++refusals);
  }

  /** Remembers a finished request if it failed, or is sampled. */
  finished(request: FinishedRequest, exchange: Exchange): void {
    if (hasFailed(request)) {
      if (!this.#failures.isOn) return;
      const group = `${request.reason} ${exchange.routed.route?.key}`;
      return this.#failures.remember(group, this.#record(request, exchange));
    }
    // The page would fill the log with its own requests.
    if (exchange.routed.backend?.webUi !== undefined) return;
    this.#seen++;
    const end = request.time + (request.durationMs ?? 0);
    if (!this.#successes.isOn || !this.#sampler.takes(end)) return;
    this.#sampled++;
    const group = exchange.routed.route?.key ?? "";
    this.#successes.remember(group, this.#record(request, exchange));
  }

  /** Remembers a request rejected before it could be read. */
  rejected(request: FinishedRequest): void {
    if (!this.#failures.isOn) return;
    const { snapshots, clock } = this.#options;
    const redactor = this.#createRedactor(snapshots.current);
    const id = `refused-${this.#nextRefusal()}`;
    this.#failures.remember(request.reason, {
      at: clock.now(),
      request: describeRejected(id, request, redactor),
    });
  }

  /** Number of remembered requests, and how many fit. */
  get fills(): Readonly<
    Record<"failures" | "successes", FairMemory<Recorded>["fill"]>
  > {
    return { failures: this.#failures.fill, successes: this.#successes.fill };
  }

  /** Lists failures, newest first. */
  failures(): readonly FailureSummary[] {
    return this.#failures.list().map(({ value }) =>
      this.#summarize(value.request)
    );
  }

  /** Explains the newest failure with this ID, which the client may have chosen, or with this ID in the response. */
  failure(id: string): FailureReport | undefined {
    const found = this.#failures.list().find(({ value: { request } }) =>
      request.id === id || request.finished.upstreamRequestId === id
    );
    if (found === undefined) return undefined;
    const { request } = found.value;
    const { failing = null, advice } = this.#explain(request);
    const { finished: { durationMs, retries } } = request;
    return {
      ...this.#summarize(request),
      failing,
      advice,
      durationMs: durationMs ?? null,
      retries,
      events: failureEvents(request, this.#options.policies.rejections),
    };
  }

  /** Lists failures and sampled requests, newest first. */
  requests(query: RequestQuery): RequestPage {
    const takenAt = this.#options.clock.now();
    const all = this.#since(query.since ?? 0)
      .sort((a, b) => b.recordedAt - a.recordedAt);
    return {
      takenAt,
      requests: selectRequests(all, query),
      successes: this.#seen,
      sampled: this.#sampled,
    };
  }

  /** Returns everything about one of them. */
  request(record: string): RequestReport | undefined {
    const found = this.#find(record);
    if (found === undefined) return undefined;
    const { request } = found.value;
    const line = this.#describe(found, record);
    const explanation = line.hasFailed ? this.#explain(request) : undefined;
    return {
      ...line,
      cause: explanation?.cause ?? null,
      failing: explanation?.failing ?? null,
      advice: explanation?.advice ?? null,
      routeKey: request.route ?? null,
      calls: request.calls,
      events: failureEvents(request, this.#options.policies.rejections),
    };
  }

  #record(request: FinishedRequest, exchange: Exchange): Recorded {
    const redactor = this.#createRedactor(exchange.snapshot);
    const client = identityOf(exchange);
    return {
      at: this.#options.clock.now(),
      request: describeRequest(exchange, request, client, redactor),
    };
  }

  #since(time: number): LoggedRequest[] {
    const read = (kind: string, memory: FairMemory<Recorded>) =>
      memory.list().filter(({ value }) => value.at >= time)
        .map((each) => this.#describe(each, this.#nameOf(kind, each)));
    return [...read("f", this.#failures), ...read("s", this.#successes)];
  }

  #find(record: string): Numbered<Recorded> | undefined {
    const find = (kind: string, memory: FairMemory<Recorded>) =>
      memory.list().find((each) => this.#nameOf(kind, each) === record);
    return find("f", this.#failures) ?? find("s", this.#successes);
  }

  #nameOf(kind: string, { number }: Numbered<Recorded>): string {
    return `${this.#options.thread ?? 0}-${kind}${number}`;
  }

  #describe({ value }: Numbered<Recorded>, record: string): LoggedRequest {
    const { at, request: { id, client, finished } } = value;
    const { usage, uncounted } = finished;
    return {
      record,
      id,
      time: new Date(finished.time).toISOString(),
      recordedAt: at,
      status: finished.status,
      hasFailed: hasFailed(finished),
      reason: finished.reason,
      method: finished.method,
      host: finished.host,
      path: finished.path,
      gateway: finished.gateway ?? null,
      route: finished.route ?? null,
      backend: finished.backend ?? null,
      model: usage?.responseModel ?? uncounted?.model ?? null,
      key: client === "" ? null : client,
      durationMs: finished.durationMs ?? null,
      firstTokenMs: finished.firstTokenMs ?? null,
      inputTokens: usage?.inputTokens ?? null,
      outputTokens: usage?.outputTokens ?? null,
      costUsd: usage?.cost.isKnown ? usage.cost.nanoUsd / NANO_USD : null,
      retries: finished.retries,
    };
  }

  #explain(request: RecordedRequest): Explanation {
    return explainFailure(request, this.#options.policies.rejections);
  }

  #summarize(request: RecordedRequest): FailureSummary {
    const { id, route, backend, finished } = request;
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
      cause: this.#explain(request).cause,
    };
  }
}
