import type { LimitSelection } from "../../ratelimit/local/counter_store.ts";
import type { ServiceSlices } from "../../api/resources/cluster_kinds.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { Settings } from "../../api/settings.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { formatLogFilter, parseLogFilter } from "../../base/log_filter.ts";
import { createPortLog } from "../../proxy/ports/port_log.ts";
import { BodyMemory } from "../../http/body_memory.ts";
import type { WebUiHandler } from "../../proxy/balancing/web_ui_upstream.ts";
import type { GatewayMetrics } from "../../telemetry/metrics/gateway_metrics.ts";
import type { MetricReading } from "../../telemetry/metrics/metrics.ts";
import { toText } from "../../telemetry/metrics/prometheus_text.ts";
import type { CpuProfile } from "../../telemetry/profiles/cpu_profile.ts";
import type { StackProfile } from "../../telemetry/profiles/stack_profile.ts";
import {
  mergeReports,
  mergeRequests,
  type RequestPage,
  type RequestQuery,
  type RequestReport,
} from "../../telemetry/requests/logged_request.ts";
import type {
  TrafficQuery,
  TrafficReport,
} from "../../telemetry/traffic/traffic_report.ts";
import { TrafficStore } from "../../telemetry/traffic/traffic_store.ts";
import type { UsageRow } from "../../telemetry/traffic/usage_table.ts";
import type {
  ApplyResult,
  BoundedStore,
  DataPlane,
  DataPlaneDescription,
  DrainResult,
  PolicyStateDescription,
  PortAddress,
  TaskTree,
  ThreadHeap,
  TraceAnswer,
  TraceQuery,
} from "../data_plane.ts";
import { createUsageBook } from "../kv_stores.ts";
import { ControlState } from "../shared/control_state.ts";
import { SharedConnections } from "../shared/shared_connections.ts";
import { EndedMetrics, mergeMetrics } from "./merge_metrics.ts";
import { mergeStores, mergeTasks, ofWorker } from "./merge_tasks.ts";
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
    this.#state = new ControlState(options);
    this.#state.addMetrics(registry);
    const log = logger.module("process");
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
    this.#failures = registry.counter(
      "gateway_worker_failures_total",
      "Workers that ended and were replaced",
    ).labels();
    registry.computed(
      "gauge",
      "gateway_workers",
      "Workers that serve requests and respond",
      [],
      () => [[this.#threads.serving]],
    );
    this.#threads = new WorkerThreads({
      count,
      clock,
      log,
      start: (worker, onEnd) => this.#start(worker, onEnd),
      heartbeats: this.#shared.heartbeats,
      onEnd: (worker) => this.#onEnd(worker),
      onSilent: (worker) => this.#watches.workerEnded(worker),
      onLost: options.onLost,
      configure: (thread, serve) => this.#configure(thread, serve),
    });
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

  async describe(): Promise<DataPlaneDescription> {
    await this.#threads.callAll("settle");
    return this.#complete(await this.#threads.callOne("describe"));
  }

  async describeState(): Promise<PolicyStateDescription> {
    await this.#threads.callAll("settle");
    return this.#complete(await this.#threads.callOne("describeState"));
  }

  async usage(since: number): Promise<readonly UsageRow[]> {
    await this.#threads.callAll("settle");
    return await this.#traffic.usage(since);
  }

  resetLimits(selection: LimitSelection): Promise<number> {
    return this.#state.resetLimits(selection);
  }

  addresses(): Promise<readonly PortAddress[]> {
    return this.#threads.callOne("addresses");
  }

  async collectMetrics(names?: ReadonlySet<string>): Promise<string> {
    const merged = await this.readMetrics(names);
    return merged.map((metric) => toText(metric, metric.samples)).join("");
  }

  async readMetrics(
    names?: ReadonlySet<string>,
  ): Promise<readonly MetricReading[]> {
    const workers = await this.#threads.callEach("readMetrics", names);
    // Limits are counted here, also for what the workers have just settled.
    const own = this.#options.metrics.registry.read(names);
    if (names === undefined) {
      for (const { worker, result } of workers) {
        this.#ended.remember(worker, result);
      }
    }
    return mergeMetrics([
      own,
      ...workers.map(({ result }) => result),
      this.#ended.totals(names),
    ]);
  }

  async setLogLevel(filter: string): Promise<void> {
    this.#options.logger.setFilter(parseLogFilter(filter));
    await this.#threads.callAll("setLogLevel", filter);
  }

  async refreshKeys(): Promise<void> {
    await this.#state.refetchKeys();
    await this.#threads.callAll("refreshKeys");
  }

  traceNext(query: TraceQuery): Promise<TraceAnswer> {
    return this.#watches.traceNext(query);
  }

  async traffic(query: TrafficQuery): Promise<TrafficReport> {
    await this.#threads.callAll("settle");
    return this.#traffic.report(query);
  }

  async requests(query: RequestQuery): Promise<RequestPage> {
    const takenAt = this.#options.clock.now();
    const pages = await this.#threads.callAll("requests", query);
    return mergeRequests(pages, query, takenAt);
  }

  async request(id: string): Promise<RequestReport | undefined> {
    return mergeReports(await this.#threads.callAll("request", id), id);
  }

  async tasks(limit: number): Promise<TaskTree> {
    const workers = await this.#threads.callEach("tasks", limit);
    const trees = workers.map(({ worker, result }) => ofWorker(result, worker));
    const [{ keySets, providerMetadata } = noDocuments] = trees;
    return {
      takenAt: new Date(this.#options.clock.now()).toISOString(),
      ...mergeTasks(trees, limit),
      ...this.#state.completeDocuments({ keySets, providerMetadata }),
      leases: [
        ...this.#state.describeLeases(),
        ...trees.flatMap(({ leases }) => leases),
      ],
      watchers: this.#watches.describe(),
    };
  }

  async stores(): Promise<readonly BoundedStore[]> {
    const workers = await this.#threads.callAll("stores");
    return [...mergeStores(workers), ...this.#state.stores()];
  }

  async startCpuProfiles(frequency: number): Promise<void> {
    await this.#threads.callAll("startCpuProfile", frequency);
  }

  async stopCpuProfiles(): Promise<readonly CpuProfile[]> {
    const profiles = await this.#threads.callAll("stopCpuProfile");
    return profiles.filter((profile) => profile !== undefined);
  }

  async startAllocationProfiles(): Promise<void> {
    await this.#threads.callAll("startAllocationProfile");
  }

  heapProfiles(): Promise<readonly StackProfile[]> {
    return this.#threads.callAll("heapProfile");
  }

  async heaps(): Promise<readonly ThreadHeap[]> {
    const workers = await this.#threads.callEach("heap");
    return workers.map(({ worker, result }) => ({ worker, ...result }));
  }

  stuckWorkers(): readonly number[] {
    return this.#threads.silent;
  }

  async leave(): Promise<void> {
    await this.#threads.callAll("leave");
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

  /** Adds what the control thread knows to the description of a worker. */
  #complete<Description extends PolicyStateDescription>(
    description: Description,
  ): Description {
    const own = this.#state.describeBudgets();
    return {
      ...this.#state.completeDocuments(description),
      budgets: [...own, ...description.budgets],
    };
  }

  #onEnd(worker: number): void {
    this.#failures.inc();
    this.#ended.keep(worker);
    this.#watches.workerEnded(worker);
  }

  async #configure(thread: WorkerThread, serve: () => void): Promise<void> {
    await this.#configuration.configure(thread, serve);
    await thread.call(
      "setLogLevel",
      formatLogFilter(this.#options.logger.filter),
    );
    await thread.call("watchOnly", this.#watches.watches());
  }
}

const noDocuments = { keySets: [], providerMetadata: [] };

function noWebUi(): Promise<Response> {
  return Promise.reject(new Error("This process has no web UI"));
}
