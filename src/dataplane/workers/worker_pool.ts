import type { ServiceSlices } from "../../api/resources/cluster_kinds.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { Settings } from "../../api/settings.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log/log.ts";
import { formatLogFilter } from "../../base/log/log_filter.ts";
import { createPortLog } from "../../proxy/ports/port_log.ts";
import { BodyMemory } from "../../http/body_memory.ts";
import type { WebUiHandler } from "../../proxy/balancing/web_ui_upstream.ts";
import type { GatewayMetrics } from "../../telemetry/metrics/gateway_metrics.ts";
import { TrafficStore } from "../../telemetry/traffic/traffic_store.ts";
import {
  type CallArguments,
  type CallName,
  callOf,
  type CallResult,
} from "../calls/calls.ts";
import type { TraceAnswer, TraceQuery } from "../calls/debugging.ts";
import { EndedMetrics } from "../calls/merge_metrics.ts";
import type { CallingThread } from "../calls/traffic_thread.ts";
import type { DataPlane } from "../data_plane.ts";
import type { ApplyResult, DrainResult } from "../apply_result.ts";
import { createUsageBook } from "../state/stores/kv_stores.ts";
import { ControlState } from "../state/control_state.ts";
import { SharedConnections } from "../state/shared_connections.ts";
import type {
  Counter,
  MetricRegistry,
} from "../../telemetry/metrics/metrics.ts";
import { CONTROL } from "../../ratelimit/shared/limit_registry.ts";
import { createSharedState } from "./shared_state.ts";
import { WebUiRelay } from "./web_ui_relay.ts";
import { bodyMemoryBytes, workerHeapMegabytes } from "../granted_resources.ts";
import { WorkerConfiguration } from "./worker_configuration.ts";
import { type WorkerEnded, WorkerThread } from "./worker_thread.ts";
import { WorkerThreads } from "./worker_threads.ts";
import { WorkerWatches } from "./worker_watches.ts";

/** Dependencies of the worker pool. */
export interface WorkerPoolOptions {
  /** Number of workers. */
  readonly count: number;
  /** The module that calls `runWorker`. */
  readonly entry: URL;
  /** Limit of the heap of each worker; default: see `workerHeapMegabytes`. */
  readonly heapMegabytes?: number;
  /** Time between two looks at the heartbeats of workers; default 1000. */
  readonly lookMs?: number;
  /** Runs when a worker is busy without end: only a restart of the process can end its thread. */
  readonly onLost: () => void;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: GatewayMetrics;
  /** Handles requests to the web UI on gateways. */
  readonly webUi: WebUiHandler | undefined;
  /** Writes lines of the log of a worker; resolves when more are welcome. */
  readonly writeLog: (lines: string) => Promise<void>;
  /** Writes lines of the access log of a worker, likewise. */
  readonly writeAccessLog: (lines: string) => Promise<void>;
}

/**
 * Data planes in worker threads that share the ports, as one: this thread applies configurations to all of them and merges what
 * they report.
 */
export class WorkerPool implements DataPlane {
  readonly #options: WorkerPoolOptions;
  readonly #shared;
  readonly #connections: SharedConnections;
  readonly #state: ControlState;
  readonly #threads: WorkerThreads;
  readonly #configuration: WorkerConfiguration;
  readonly #watches: WorkerWatches;
  readonly #ended = new EndedMetrics();
  readonly #caller: CallingThread;
  readonly #traffic: TrafficStore;
  readonly #failures;
  #hasServed = false;

  constructor(options: WorkerPoolOptions) {
    const { count, clock, logger, metrics: { registry } } = options;
    this.#options = options;
    this.#traffic = new TrafficStore(clock, createUsageBook(options));
    this.#shared = createSharedState({
      workers: count,
      bodyMemoryBytes: bodyMemoryBytes(options.settings.limits),
      lookMs: options.lookMs,
    });
    this.#connections = new SharedConnections(this.#shared.connections, {
      thread: CONTROL,
      worker: 0,
    });
    this.#state = new ControlState(
      options,
      () => void this.call("forgetMcpApprovals"),
    );
    this.#state.addMetrics(registry);
    this.#configuration = new WorkerConfiguration({
      threads: () => this.#threads,
      portObserver: createPortLog(logger.module("proxy")),
      reusePort: options.settings.reusePort,
    });
    this.#watches = new WorkerWatches({
      turns: this.#shared.traceTurns,
      watch: (watch) => this.#threads.callAll("watch", watch),
      unwatch: (id) => this.#threads.callAll("unwatch", id),
    });
    this.#caller = {
      clock,
      logger,
      traffic: this.#traffic,
      keyring: this.#state.keyring,
      pins: this.#state.pins,
      workers: {
        state: this.#state,
        watches: this.#watches,
        registry,
        ended: this.#ended,
      },
    };
    this.#failures = this.#addMetrics(registry);
    this.#threads = new WorkerThreads({
      count,
      clock,
      log: logger.module("process"),
      start: (worker, onEnd) => this.#start(worker, onEnd),
      heartbeats: this.#shared.heartbeats,
      onEnd: (worker) => this.#onEnd(worker),
      onSilent: (worker) => this.#watches.workerEnded(worker),
      onLost: options.onLost,
      configure: (thread, serve) => this.#configure(thread, serve),
    });
  }

  /** Adds the metrics of workers; returns that of those that ended. */
  #addMetrics(registry: MetricRegistry): Counter {
    registry.computed(
      "gauge",
      "gateway_workers",
      "Workers that serve requests and respond",
      [],
      () => [[this.#threads.serving]],
    );
    return registry.counter(
      "gateway_worker_failures_total",
      "Workers that ended and were replaced",
    ).labels();
  }

  async apply(resources: ResourceSet): Promise<ApplyResult> {
    this.#state.reserve(resources.reserved);
    const result = await this.#configuration.apply(resources);
    if (result.applied && !this.#hasServed) {
      this.#hasServed = true;
      const { count, logger } = this.#options;
      logger.module("process").info("Workers started", { workers: count });
    }
    return result;
  }

  setEndpoints(changed: ServiceSlices): Promise<void> {
    return this.#configuration.setEndpoints(changed);
  }

  async call<Name extends CallName>(
    name: Name,
    ...args: CallArguments[Name]
  ): Promise<CallResult[Name]> {
    const { settles, before, threads, merge } = callOf(name);
    const caller = this.#caller;
    if (settles === true) await this.#threads.callAll("settle");
    await before?.(caller, ...args);
    const results = threads === "none"
      ? []
      : await this.#threads.run(name, args, threads);
    return await merge(results, caller, ...args);
  }

  traceNext(query: TraceQuery): Promise<TraceAnswer> {
    return this.#watches.traceNext(query);
  }

  get stuckWorkers(): readonly number[] {
    return this.#threads.silent;
  }

  get keyringProblem(): string | undefined {
    return this.#state.keyring?.read()?.problem;
  }

  async drain(timeoutMs: number): Promise<DrainResult> {
    this.#watches.stopAccepting();
    await this.#threads.stopReplacing();
    const results = await this.#threads.callAll("drain", timeoutMs);
    this.#watches.close();
    await this.#threads.stop();
    await Promise.all([this.#state.close(), this.#traffic.close()]);
    const sum = { drained: 0, cut: 0 };
    for (const { drained, cut } of results) {
      sum.drained += drained;
      sum.cut += cut;
    }
    return sum;
  }

  #start(
    worker: number,
    onEnd: (reason: WorkerEnded) => void,
  ): WorkerThread {
    const { count, entry, settings, logger, webUi } = this.#options;
    const { writeLog, writeAccessLog } = this.#options;
    const relay = new WebUiRelay(webUi ?? noWebUi);
    const { thread, handlers, end } = this.#state.connect();
    return new WorkerThread({
      entry,
      heapMegabytes: this.#options.heapMegabytes ?? workerHeapMegabytes(count),
      start: {
        worker,
        settings: { ...settings, reusePort: true },
        logFilter: formatLogFilter(logger.filter),
        hasWebUi: webUi !== undefined,
        shared: this.#shared,
        thread,
      },
      handlers: {
        ...handlers,
        ...relay.handlers,
        writeLog,
        writeAccessLog,
        addTraffic: (news) => this.#traffic.add(news),
        traced: (...args) => this.#watches.traced(...args),
        traceFailed: (...args) => this.#watches.failed(...args),
      },
      onEnd,
      onExit: () => {
        end();
        this.#connections.removeWorker(worker);
        new BodyMemory(this.#shared.bodyMemory, worker).clear();
      },
    });
  }

  #onEnd(worker: number): void {
    this.#failures.inc();
    this.#ended.keep(worker);
    this.#watches.workerEnded(worker);
  }

  async #configure(thread: WorkerThread, serve: () => void): Promise<void> {
    await this.#configuration.configure(thread, serve);
    const filter = formatLogFilter(this.#options.logger.filter);
    await thread.call("run", "setLogLevel", [filter]);
    await thread.call("watchOnly", this.#watches.watches());
  }
}

function noWebUi(): Promise<Response> {
  return Promise.reject(new Error("This process has no web UI"));
}
