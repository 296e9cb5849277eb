import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import type { ServiceDescriptor } from "./service_messages.ts";

/** Tokens used by a request, to be reported to the service. */
export interface UsageReport {
  readonly descriptor: ServiceDescriptor;
  /** Monotonic time after which the report would be charged to a later window. */
  readonly expiresAt: number;
}

/** Options of the delivery of reports. */
export interface UsageReportsOptions {
  /** Sends a report; rejects when the service did not accept it. */
  readonly send: (descriptor: ServiceDescriptor) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Log;
  /** Largest number of waiting reports, 10,000 by default; more are dropped. */
  readonly capacity?: number;
}

/** Counts of reports since the start. */
export interface UsageReportCounters {
  readonly reportedTokens: number;
  readonly droppedReports: number;
  readonly droppedTokens: number;
  /** Reports that wait or are being sent. */
  readonly pendingReports: number;
}

const DEFAULT_CAPACITY = 10_000;
const MAX_IN_FLIGHT = 16;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1000;
/** Interval at which dropped reports are logged. */
const LOG_INTERVAL_MS = 1000;

/**
 * Delivers reports to a service that may be unavailable for a while. A report is retried until the service accepts it or its window
 * is over, so a service that responds too late may count it twice. Dropped reports are counted and logged.
 */
export class UsageReports {
  readonly #options: UsageReportsOptions;
  readonly #waiting = new Set<UsageReport>();
  readonly #inFlight = new Set<UsageReport>();
  #backoffMs = 0;
  #stopBackoff: (() => void) | undefined;
  #isClosed = false;
  #hasEnded = false;
  #onIdle: (() => void) | undefined;
  #reportedTokens = 0;
  #droppedReports = 0;
  #droppedTokens = 0;
  #unloggedReports = 0;
  #unloggedTokens = 0;
  #stopLogTimer: (() => void) | undefined;

  constructor(options: UsageReportsOptions) {
    this.#options = options;
  }

  get counters(): UsageReportCounters {
    return {
      reportedTokens: this.#reportedTokens,
      droppedReports: this.#droppedReports,
      droppedTokens: this.#droppedTokens,
      pendingReports: this.#waiting.size + this.#inFlight.size,
    };
  }

  /** Sends a report now or queues it. */
  add(report: UsageReport): void {
    const { capacity = DEFAULT_CAPACITY } = this.#options;
    if (this.#isClosed || this.#waiting.size >= capacity) {
      this.#drop(report);
    } else {
      this.#waiting.add(report);
      this.#sendWaiting();
    }
  }

  /** Accepts no more reports, gives waiting ones `graceMs` to be delivered and drops the rest. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    await this.#untilIdle(graceMs);
    this.#stopBackoff?.();
    for (const report of this.#waiting) this.#drop(report);
    for (const report of this.#inFlight) this.#drop(report);
    this.#waiting.clear();
    this.#inFlight.clear();
    this.#logDropped();
    this.#hasEnded = true;
  }

  #untilIdle(graceMs: number): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#options.clock.setTimer(resolve, graceMs);
      this.#onIdle = () => {
        cancel();
        resolve();
      };
    });
  }

  get #isIdle(): boolean {
    return this.#waiting.size + this.#inFlight.size === 0;
  }

  #sendWaiting(): void {
    for (const report of this.#waiting) {
      if (this.#stopBackoff !== undefined) break;
      if (this.#inFlight.size === MAX_IN_FLIGHT) break;
      this.#waiting.delete(report);
      if (report.expiresAt <= this.#options.clock.monotonic()) {
        this.#drop(report);
      } else {
        this.#inFlight.add(report);
        void this.#deliver(report);
      }
    }
    if (this.#isIdle) this.#onIdle?.();
  }

  async #deliver(report: UsageReport): Promise<void> {
    const error = await this.#trySend(report);
    if (this.#hasEnded) return;
    this.#inFlight.delete(report);
    if (error === undefined) {
      this.#reportedTokens += report.descriptor.hitsAddend;
      this.#backoffMs = 0;
    } else {
      this.#options.log.debug("Token report failed", { error });
      this.#retryLater(report);
    }
    this.#sendWaiting();
  }

  async #trySend(report: UsageReport): Promise<unknown> {
    try {
      await this.#options.send(report.descriptor);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Moves the report to the end of the queue, so that one that the service rejects does not block others. */
  #retryLater(report: UsageReport): void {
    const { clock } = this.#options;
    this.#waiting.add(report);
    if (this.#stopBackoff !== undefined) return;
    this.#backoffMs = Math.min(
      MAX_BACKOFF_MS,
      Math.max(FIRST_BACKOFF_MS, this.#backoffMs * 2),
    );
    this.#stopBackoff = clock.setTimer(() => {
      this.#stopBackoff = undefined;
      this.#sendWaiting();
    }, this.#backoffMs);
  }

  #drop(report: UsageReport): void {
    this.#droppedReports++;
    this.#droppedTokens += report.descriptor.hitsAddend;
    this.#unloggedReports++;
    this.#unloggedTokens += report.descriptor.hitsAddend;
    if (this.#hasEnded) return this.#logDropped();
    this.#stopLogTimer ??= this.#options.clock.setTimer(
      () => this.#logDropped(),
      LOG_INTERVAL_MS,
    );
  }

  #logDropped(): void {
    this.#stopLogTimer?.();
    this.#stopLogTimer = undefined;
    if (this.#unloggedReports === 0) return;
    this.#options.log.warn("Dropped reports of used tokens", {
      reports: this.#unloggedReports,
      tokens: this.#unloggedTokens,
    });
    this.#unloggedReports = 0;
    this.#unloggedTokens = 0;
  }
}
