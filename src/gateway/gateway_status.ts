import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log/log.ts";
import { formatTime } from "../base/log/log_text.ts";
import type { Candidate } from "./candidate/candidate.ts";
import type { GatewayMetrics } from "../telemetry/metrics/gateway_metrics.ts";

/** The configuration in force and the last rejected one. */
export interface GatewayStatus {
  /** When the process started, RFC 3339: what it keeps in memory is not older. */
  readonly startedAt: string;
  /** SHA-256 of the configuration, hexadecimal; empty before the first one is in force. */
  readonly hash: string;
  /** RFC 3339. */
  readonly appliedAt: string;
  /** Number of routes. */
  readonly routes: number;
  /** `undefined` if none was rejected after the configuration in force was applied. */
  readonly lastRejected: RejectedConfiguration | undefined;
}

/** A rejected configuration; forgotten when a later one is applied. */
export interface RejectedConfiguration {
  /** SHA-256 of the text of the configuration, hexadecimal. */
  readonly hash: string;
  /** RFC 3339. */
  readonly at: string;
  /** Lines: `file:line:column: error: …`. */
  readonly diagnostics: readonly string[];
}

/** Readiness for traffic; `stuck` when a worker does not respond. */
export type Readiness = "starting" | "ready" | "stuck" | "draining";

/** Keeps the status; logs and counts applied and rejected configurations. */
export class ConfigurationRecord {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #metrics: GatewayMetrics;
  #status: GatewayStatus;

  constructor(clock: Clock, log: Log, metrics: GatewayMetrics) {
    this.#clock = clock;
    this.#log = log;
    this.#metrics = metrics;
    this.#status = {
      startedAt: formatTime(clock.now()),
      hash: "",
      appliedAt: "",
      routes: 0,
      lastRejected: undefined,
    };
  }

  get status(): GatewayStatus {
    return this.#status;
  }

  /** Reports whether a configuration is in force. */
  get isRunning(): boolean {
    return this.#status.hash !== "";
  }

  applied({ hash, loaded }: Candidate): void {
    const appliedAt = formatTime(this.#clock.now());
    const { startedAt } = this.#status;
    const { gateways, httpRoutes } = loaded.resources;
    this.#status = {
      startedAt,
      hash,
      appliedAt,
      routes: httpRoutes.length,
      lastRejected: undefined,
    };
    this.#metrics.configReloads.labels("applied").inc();
    this.#metrics.configSynchronized.set(1);
    this.#log.info("Configuration applied", {
      hash: hash.slice(0, 12),
      gateways: gateways.length,
      routes: httpRoutes.length,
    });
  }

  rejected(
    hash: string,
    diagnostics: readonly string[],
    errors: number,
  ): void {
    const at = formatTime(this.#clock.now());
    this.#status = { ...this.#status, lastRejected: { hash, at, diagnostics } };
    this.#metrics.configReloads.labels("rejected").inc();
    this.#metrics.configSynchronized.set(0);
    if (!this.isRunning) return;
    const message = "Configuration rejected, the running one stays";
    this.#log.error(message, { errors });
  }
}
