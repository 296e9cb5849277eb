import { emptyResourceSet } from "../api/resources/resource_set.ts";
import type { Settings } from "../api/settings.ts";
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Log } from "../base/log/log.ts";
import { runInSlices } from "../base/slices.ts";
import type { Outcomes } from "../compile/outcomes/outcomes.ts";
import {
  type ConfigurationSource,
  isObjectSource,
} from "../config/configuration_source.ts";
import {
  type Diagnostic,
  formatDiagnostic,
  isError,
} from "../config/diagnostics/located_diagnostic.ts";
import type { DataPlane } from "../dataplane/data_plane.ts";
import type { GatewayMetrics } from "../telemetry/metrics/gateway_metrics.ts";
import {
  type Candidate,
  type CandidateOptions,
  checkCandidate,
  loadCandidate,
} from "./candidate/candidate.ts";
import { ConfigurationHistory } from "./editing/configuration_history.ts";
import { applyUsable } from "./data_planes.ts";
import { DiagnosticLog } from "./diagnostic_log.ts";
import { ConfigurationRecord } from "./gateway_status.ts";
import { locateDiagnostics } from "./candidate/locate_diagnostics.ts";
import { keepUnchanged } from "./unchanged_resources.ts";

/** The source of the configuration, and the data plane that it is for. */
export interface FollowerOptions extends CandidateOptions {
  readonly config: ConfigurationSource;
  readonly dataPlane: DataPlane;
  /** Those that the gateway has started with: changes need a restart. */
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
  /** Receives the conditions of gateways and routes after each configuration that is applied. */
  readonly onApplied?: (outcomes: Outcomes) => void;
}

/**
 * Applies the configuration and its changes, one at a time.
 *
 * Reports an invalid configuration and keeps the running one.
 */
export class ConfigurationFollower {
  readonly history = new ConfigurationHistory();
  readonly record: ConfigurationRecord;
  readonly #options: FollowerOptions;
  readonly #log: Log;
  readonly #diagnosticLog: DiagnosticLog;
  #files: readonly string[] = [];
  /** Resources in force. */
  #resources = emptyResourceSet;
  /** Fingerprint of the last configuration, applied or rejected. */
  #fingerprint = "";
  /** Serializes reloads, so that the last configuration read is the last one applied. */
  #reloading: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: FollowerOptions) {
    const { clock, log, metrics } = options;
    this.#options = options;
    this.#log = log;
    this.record = new ConfigurationRecord(clock, log, metrics);
    this.#diagnosticLog = new DiagnosticLog(log, clock);
  }

  /** Files that the last configuration refers to. */
  get files(): readonly string[] {
    return this.#files;
  }

  /** Applies a configuration unless it has errors; returns all its diagnostics. */
  async apply(candidate: Candidate): Promise<readonly Diagnostic[]> {
    const { loaded, hash, fingerprint, sources } = candidate;
    this.#files = loaded.files;
    this.#fingerprint = fingerprint;
    const { applied, diagnostics } = loaded.diagnostics.some(isError)
      ? { applied: false, diagnostics: await checkCandidate(candidate) }
      : await this.#applyResources(candidate);
    // The caller of `Gateway.start` reports a first configuration that is rejected.
    if (applied || this.record.isRunning) this.#logDiagnostics(diagnostics);
    if (applied) {
      const appliedAt = this.#options.clock.now();
      const { sensitiveHeaders } = loaded.settings;
      const secrets = await runInSlices(
        loaded.findSecrets(),
        this.#options.clock,
      );
      this.history.add({ hash, appliedAt, sources, sensitiveHeaders, secrets });
      this.record.applied(candidate);
      this.#warnAboutNewSettings(loaded.settings);
    } else {
      const errors = diagnostics.filter(isError).length;
      this.record.rejected(hash, diagnostics.map(formatDiagnostic), errors);
    }
    return diagnostics;
  }

  async #applyResources(candidate: Candidate) {
    const { dataPlane, clock, onApplied } = this.#options;
    const resources = await runInSlices(
      keepUnchanged(this.#resources, candidate.loaded.resources),
      clock,
    );
    const result = await applyUsable(dataPlane, resources);
    const { applied, outcomes } = result;
    if (applied) this.#resources = resources;
    if (outcomes !== undefined) onApplied?.(outcomes);
    return { applied, diagnostics: locateDiagnostics(candidate, result) };
  }

  /** Applies what changes, until the source ends. */
  async follow(changes: AsyncIterable<void>): Promise<void> {
    for await (const _ of changes) {
      if (await this.#updateEndpoints()) continue;
      await this.#reloadIf(({ fingerprint }) =>
        fingerprint !== this.#fingerprint
      );
    }
  }

  /** Reads and applies the configuration, changed or not; does nothing once closed. */
  reload(): Promise<void> {
    return this.#reloadIf(() => true);
  }

  /** Applies no other configuration; resolves when the last one is applied. Endpoints are still updated. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reloading;
    this.#diagnosticLog.close();
  }

  #reloadIf(isNeeded: (candidate: Candidate) => boolean): Promise<void> {
    this.#reloading = this.#reloading.then(() => this.#reload(isNeeded));
    return this.#reloading;
  }

  async #reload(isNeeded: (candidate: Candidate) => boolean): Promise<void> {
    if (this.#isClosed) return;
    try {
      const candidate = await loadCandidate(
        this.#options.config,
        this.#options,
      );
      if (isNeeded(candidate)) await this.apply(candidate);
    } catch (error) {
      this.#fingerprint = "";
      this.#log.error("Cannot read the configuration", { error });
      this.record.rejected("", [describeError(error)], 1);
    }
  }

  /** Passes on endpoints, if nothing else has changed; returns false when a reload is needed. */
  async #updateEndpoints(): Promise<boolean> {
    const { config, dataPlane } = this.#options;
    await this.#reloading;
    // A configuration that was rejected had endpoints that are not in force.
    const isCurrent = this.record.status.lastRejected === undefined;
    if (!isCurrent || !isObjectSource(config)) return false;
    const changed = config.changedEndpoints();
    if (changed === undefined) return false;
    try {
      await dataPlane.setEndpoints(changed);
    } catch (error) {
      this.#log.error("Cannot change endpoints, reloading", { error });
      return false;
    }
    this.#log.debug("Endpoints changed", { services: changed.size });
    return true;
  }

  #warnAboutNewSettings(settings: Settings): void {
    const before = JSON.stringify(this.#options.settings);
    if (JSON.stringify(settings) === before) return;
    this.#log.warn('A change of "config" takes effect after a restart');
  }

  #logDiagnostics(diagnostics: readonly Diagnostic[]): void {
    const isCluster = isObjectSource(this.#options.config);
    this.#diagnosticLog[isCluster ? "logNew" : "logAll"](diagnostics);
  }
}
