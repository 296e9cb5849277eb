import type { Settings } from "../../api/settings.ts";
import type { Clock } from "../../base/clock.ts";
import { NANO_USD } from "../../base/log/log_text.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
import type { Exchange } from "../../proxy/exchange/exchange.ts";
import {
  describeRejected,
  describeRequest,
  hasFailed,
} from "../../proxy/exchange/remembered_requests.ts";
import {
  type ReplayableRequest,
  replayableRequest,
} from "../../proxy/exchange/replayable_request.ts";
import type { Tracing } from "../../proxy/exchange/tracing.ts";
import type { SnapshotStore } from "../../snapshot/snapshot.ts";
import { explainFailure } from "../../telemetry/failures/explain_failure.ts";
import type { Explanation } from "../../telemetry/failures/explanation.ts";
import { failureEvents } from "../../telemetry/failures/failure_events.ts";
import type { RecordedRequest } from "../../telemetry/failures/recorded_request.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import { FairMemory } from "../../telemetry/requests/fair_memory.ts";
import {
  type LoggedRequest,
  type RequestPage,
  type RequestQuery,
  type RequestReport,
  selectRequests,
} from "../../telemetry/requests/logged_request.ts";
import { Sampler } from "../../telemetry/requests/sampler.ts";

/** Requests that succeeded and are recorded, per second, of all workers together. */
const SAMPLED_PER_SECOND = 50;

/** Clients choose names of tools. */
const MAX_TOOL_NAME = 200;

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

interface Named {
  /** Identifies it among those of all data planes. */
  readonly record: string;
  readonly value: Recorded;
}

interface Recorded {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly request: RecordedRequest;
  /** Set for requests on which rules can be tried. */
  readonly replayable?: ReplayableRequest | undefined;
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

  /** Lists failures and sampled requests, newest first. */
  requests(query: RequestQuery): RequestPage {
    const takenAt = this.#options.clock.now();
    const { since = 0 } = query;
    const all = [...this.#list("f"), ...this.#list("s")]
      .filter(({ value }) => value.at >= since)
      .sort((a, b) => b.value.at - a.value.at);
    return {
      takenAt,
      requests: selectRequests(
        all.values().map((each) => this.#describe(each)),
        query,
      ),
      successes: this.#seen,
      sampled: this.#sampled,
    };
  }

  /** Returns everything about one of them: that with this `record`, else the newest with this ID, failures first. */
  request(id: string): RequestReport | undefined {
    const all = [...this.#list("f"), ...this.#list("s")];
    const found = all.find(({ record }) => record === id) ??
      all.find(({ value: { request } }) =>
        request.id === id || request.finished.upstreamRequestId === id
      );
    if (found === undefined) return undefined;
    const { request } = found.value;
    const line = this.#describe(found);
    const explanation = line.hasFailed ? this.#explain(request) : undefined;
    return {
      ...line,
      failing: explanation?.failing ?? null,
      advice: explanation?.advice ?? null,
      routeKey: request.route ?? null,
      calls: request.calls,
      events: failureEvents(request, this.#options.policies.rejections),
    };
  }

  /** Returns the newest requests on which rules can be tried, in no order. */
  replayable(limit: number): readonly ReplayableRequest[] {
    return [...this.#list("f"), ...this.#list("s")]
      .sort((a, b) => b.value.at - a.value.at)
      .flatMap(({ value }) => value.replayable ?? [])
      .slice(0, limit);
  }

  #record(request: FinishedRequest, exchange: Exchange): Recorded {
    const redactor = this.#createRedactor(exchange.snapshot);
    return {
      at: this.#options.clock.now(),
      request: describeRequest(exchange, request, redactor),
      replayable: replayableRequest(exchange, request, redactor),
    };
  }

  /** Lists failures or successes, newest first. */
  #list(kind: "f" | "s"): readonly Named[] {
    const memory = kind === "f" ? this.#failures : this.#successes;
    const { thread = 0 } = this.#options;
    return memory.list().map(({ number, value }) => ({
      record: `${thread}-${kind}${number}`,
      value,
    }));
  }

  #describe({ value, record }: Named): LoggedRequest {
    const { at, request } = value;
    const { id, finished } = request;
    const { usage, uncounted, mcp } = finished;
    return {
      record,
      id,
      time: new Date(finished.time).toISOString(),
      recordedAt: at,
      status: finished.status,
      hasFailed: hasFailed(finished),
      cause: hasFailed(finished) ? this.#explain(request).cause : null,
      reason: finished.reason,
      method: finished.method,
      host: finished.host,
      path: finished.path,
      gateway: finished.gateway ?? null,
      route: finished.route ?? null,
      backend: finished.backend ?? null,
      mcpServer: mcp?.server ?? null,
      mcpTool: mcp?.tool?.name.slice(0, MAX_TOOL_NAME) ?? null,
      model: usage?.responseModel ?? uncounted?.model ?? null,
      key: finished.client === "" ? null : finished.client,
      durationMs: finished.durationMs ?? null,
      firstTokenMs: finished.firstTokenMs ?? null,
      inputTokens: usage?.inputTokens ?? null,
      outputTokens: usage?.outputTokens ?? null,
      costUsd: usage?.isPriced ? usage.nanoUsd / NANO_USD : null,
      retries: finished.retries,
    };
  }

  #explain(request: RecordedRequest): Explanation {
    return explainFailure(request, this.#options.policies.rejections);
  }
}
