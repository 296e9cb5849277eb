import { redactSettings } from "../api/redact_configuration.ts";
import { parseDuration } from "../api/schema/duration.ts";
import { hasProgram } from "../api/resources/mcp_backend.ts";
import type { Settings } from "../api/settings.ts";
import { type Clock, delay, systemClock } from "../base/clock.ts";
import { createLogger, type Log, type Logger } from "../base/log/log.ts";
import { formatLogFilter, parseLogFilter } from "../base/log/log_filter.ts";
import { VERSION } from "../base/version.ts";
import { ConfigurationFollower } from "./configuration_follower.ts";
import { ConfigurationEditor } from "./editing/configuration_editor.ts";
import { Trials } from "./trials.ts";
import { checkCandidate, loadCandidate } from "./candidate/candidate.ts";
import {
  type ConfigurationSource,
  isObjectSource,
} from "../config/configuration_source.ts";
import { isError } from "../config/diagnostics/located_diagnostic.ts";
import type { LoadedConfig } from "../config/loaded_config.ts";
import type { Outcomes } from "../compile/outcomes/outcomes.ts";
import type { Environment } from "../config/yaml/substitute.ts";
import type { DataPlane } from "../dataplane/data_plane.ts";
import type { PortAddress } from "../dataplane/calls/descriptions.ts";
import { checkStore, startFailure } from "./start_failure.ts";
import { loadMetricsExporter } from "../dataplane/telemetry/load_exporter.ts";
import {
  chooseDataPlane,
  type DataPlaneFactory,
  type DataPlaneOptions,
} from "./data_planes.ts";
import { type GatewayStatus, type Readiness } from "./gateway_status.ts";
import type { MetricsExporter } from "../telemetry/otlp/metrics_exporter.ts";
import {
  createGatewayMetrics,
  type GatewayMetrics,
} from "../telemetry/metrics/gateway_metrics.ts";

/** Dependencies of a gateway. */
export interface GatewayOptions extends DataPlaneOptions {
  readonly config: ConfigurationSource;
  /** Values for `${NAME}` in the configuration; default none. */
  readonly environment?: Environment;
  /** Receives log lines, each with its line break; default: discarded. */
  readonly writeLog?: (line: string) => void;
  readonly clock?: Clock;
  /** Receives the conditions of gateways and routes after each configuration that is applied. */
  readonly onApplied?: (outcomes: Outcomes) => void;
  /** Runs with the first configuration, valid or not, before anything of it is in force and before workers start. */
  readonly onLoaded?: (needs: { readonly programs: boolean }) => void;
  /** Runs after the configuration is read and before a port is opened; an error aborts the start. */
  readonly beforeListening?: (gateway: Gateway) => Promise<void>;
}

/** Time for the last export of metrics. */
const MAX_EXPORT_MS = 1000;

/** A running gateway: a data plane, and the configuration that it follows. */
export class Gateway {
  readonly settings: Settings;
  /** The settings without secrets, as plain data. */
  readonly shownSettings: unknown;
  readonly dataPlane: DataPlane;
  readonly metrics: GatewayMetrics;
  readonly #options: GatewayOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #log: Log;
  readonly #stopWatching: AbortController;
  readonly #follower: ConfigurationFollower;
  readonly #metricsExporter: MetricsExporter | undefined;
  /** Shows, checks and replaces the source of the configuration. */
  readonly editor: ConfigurationEditor;
  /** Tries changes on requests that have ended. */
  readonly trials: Trials;
  #watching: Promise<void> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  private constructor(
    options: GatewayOptions,
    { settings, resources }: LoadedConfig,
    stopWatching: AbortController,
    createDataPlane: DataPlaneFactory,
    createMetricsExporter: Awaited<ReturnType<typeof loadMetricsExporter>>,
  ) {
    this.settings = settings;
    this.shownSettings = redactSettings(settings, resources.environment);
    this.#options = options;
    this.#stopWatching = stopWatching;
    this.#clock = options.clock ?? systemClock;
    this.#logger = createLogger({
      write: options.writeLog ?? (() => {}),
      clock: this.#clock,
      format: settings.logging.format,
      filter: parseLogFilter(settings.logging.level),
    });
    this.#log = this.#logger.module("gateway");
    const clock = this.#clock;
    this.metrics = createGatewayMetrics({ clock, version: VERSION });
    this.#addMetrics();
    this.dataPlane = createDataPlane({
      settings,
      clock,
      logger: this.#logger,
      metrics: this.metrics,
    });
    this.#follower = new ConfigurationFollower({
      ...options,
      ...{ settings, clock, log: this.#log, metrics: this.metrics },
      dataPlane: this.dataPlane,
    });
    const { history } = this.#follower;
    const reading = {
      ...options.environment && { environment: options.environment },
      ...options.policies && { policies: options.policies },
    };
    this.editor = new ConfigurationEditor({
      ...reading,
      source: options.config,
      history,
      reload: () => this.reload(),
    });
    this.trials = new Trials({
      ...reading,
      editor: this.editor,
      dataPlane: this.dataPlane,
      history,
    });
    this.#metricsExporter = createMetricsExporter?.({
      clock: this.#clock,
      logger: this.#logger,
      read: () => this.dataPlane.call("readMetrics"),
    });
  }

  /**
   * Starts listening and follows changes of the configuration.
   * @throws {ConfigurationError} When the configuration is invalid or a port cannot be opened.
   * @throws {ConfigReadError} When it cannot be read.
   */
  static async start(options: GatewayOptions): Promise<Gateway> {
    const stopWatching = new AbortController();
    let gateway: Gateway | undefined = undefined;
    // Before the configuration is read, so that no change is missed.
    const changes = await options.config.watch({
      clock: options.clock ?? systemClock,
      signal: stopWatching.signal,
      files: () => gateway === undefined ? [] : gateway.#follower.files,
    });
    const candidate = await checkStore(
      await loadCandidate(options.config, options),
    );
    const { settings } = candidate.loaded;
    options.onLoaded?.({ programs: needsPrograms(candidate.loaded) });
    const createDataPlane = await chooseDataPlane(options, settings);
    gateway = new Gateway(
      options,
      candidate.loaded,
      stopWatching,
      createDataPlane,
      await loadMetricsExporter(settings),
    );
    const isPrepared = !candidate.loaded.diagnostics.some(isError);
    const cause = isPrepared ? await gateway.#prepare() : undefined;
    const diagnostics = cause === undefined
      ? await gateway.#follower.apply(candidate)
      : await checkCandidate(candidate);
    if (!gateway.#follower.record.isRunning) {
      await gateway.#metricsExporter?.close(0);
      await gateway.dataPlane.drain(0);
      await gateway.#follower.close();
      const hasServers = isPrepared && cause === undefined;
      const { opensPorts = true } = options;
      const known = { candidate, diagnostics, cause };
      throw await startFailure({ ...known, hasServers, opensPorts });
    }
    gateway.#watching = gateway.#follower.follow(changes);
    return gateway;
  }

  /** Returns the error of what runs before a port is opened. */
  async #prepare(): Promise<unknown> {
    try {
      await this.#options.beforeListening?.(this);
    } catch (error) {
      return error;
    }
  }

  #addMetrics(): void {
    this.metrics.registry.computed(
      "gauge",
      "gateway_config_source_up",
      "1 while the source of the configuration can be read, 0 while the API server of the cluster is away",
      [],
      () => [[this.sourceProblem() === undefined ? 1 : 0]],
    );
  }

  status(): GatewayStatus {
    return this.#follower.record.status;
  }

  readiness(): Readiness {
    if (this.#stopping !== undefined) return "draining";
    if (!this.#follower.record.isRunning) return "starting";
    return this.dataPlane.stuckWorkers.length === 0 ? "ready" : "stuck";
  }

  /** Returns why the configuration may be out of date; `undefined` while it is not. */
  sourceProblem(): string | undefined {
    const { config } = this.#options;
    return isObjectSource(config) ? config.problem() : undefined;
  }

  /** Returns why what it serves may be out of date: the configuration, or the keys in the store. */
  problem(): string | undefined {
    const problems = [this.sourceProblem(), this.dataPlane.keyringProblem]
      .filter((each) => each !== undefined);
    return problems.length === 0 ? undefined : problems.join("\n");
  }

  /** Returns the log filter: `info,proxy=debug`. */
  logFilter(): string {
    return formatLogFilter(this.#logger.filter);
  }

  get logger(): Logger {
    return this.#logger;
  }

  /** Returns the log of a module, such as `admin`. */
  log(module: string): Log {
    return this.#logger.module(module);
  }

  addresses(): Promise<readonly PortAddress[]> {
    return this.dataPlane.call("addresses");
  }

  /**
   * Stops accepting and waits up to `timeoutMs` for requests to finish. Idempotent.
   *
   * Without `timeoutMs`, takes `config.drainTimeout`, and goes on accepting for `config.lameDuck` before.
   */
  stop(timeoutMs?: number): Promise<void> {
    void this.#follower.close();
    this.#stopping ??= timeoutMs === undefined
      ? this.#leave().then(() => this.#stop(this.#drainTimeoutMs))
      : this.#stop(timeoutMs);
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(0);
  }

  get #drainTimeoutMs(): number {
    return parseDuration(this.settings.drainTimeout);
  }

  async #leave(): Promise<void> {
    const { lameDuck } = this.settings;
    const durationMs = parseDuration(lameDuck);
    if (durationMs === 0) return;
    this.#log.info("Leaving: not ready, still accepting", {
      duration: lameDuck,
    });
    await this.dataPlane.call("leave");
    await delay(this.#clock, durationMs);
  }

  async #stop(timeoutMs: number): Promise<void> {
    const startedAt = this.#clock.monotonic();
    this.#log.info("Draining", { timeout: `${timeoutMs}ms` });
    this.#stopWatching.abort();
    await this.#follower.close();
    const exported = this.#metricsExporter?.close(MAX_EXPORT_MS);
    const { drained, cut } = await this.dataPlane.drain(timeoutMs);
    await exported;
    await this.#watching;
    const durationMs = Math.round(this.#clock.monotonic() - startedAt);
    this.#log.info("Stopped", { drained, cut, duration: `${durationMs}ms` });
  }

  /** Reads and applies the configuration, changed or not; does nothing while the gateway stops. */
  reload(): Promise<void> {
    return this.#follower.reload();
  }
}

/** Reports whether servers of the configuration, or those that a cluster may have, are programs that the gateway runs. */
function needsPrograms({ settings, resources }: LoadedConfig): boolean {
  return settings.clusterStdio || resources.gatewayBackends.some(hasProgram);
}
