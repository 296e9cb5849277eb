import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import {
  type Diagnostic,
  formatDiagnostic,
} from "../config/diagnostics/located_diagnostic.ts";

const MAX_PER_MINUTE = 100;
const MINUTE_MS = 60_000;

/** Logs the diagnostics of configurations. */
export class DiagnosticLog {
  readonly #log: Log;
  readonly #clock: Clock;
  /** Lines of the latest configuration. */
  #current: ReadonlySet<string> = new Set();
  #minuteEndsAt = 0;
  #linesInMinute = 0;
  #suppressed = 0;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Logs all diagnostics, as of a file that somebody has edited. */
  logAll(diagnostics: readonly Diagnostic[]): void {
    for (const diagnostic of diagnostics) this.#write(diagnostic);
  }

  /**
   * Logs each diagnostic when it appears, not again while it lasts, and at most 100 in a minute: in a cluster, everybody with an object
   * causes configurations at any time.
   */
  logNew(diagnostics: readonly Diagnostic[]): void {
    const known = this.#current;
    this.#current = new Set(diagnostics.map(formatDiagnostic));
    for (const diagnostic of diagnostics) {
      if (known.has(formatDiagnostic(diagnostic))) continue;
      if (this.#mayWrite()) this.#write(diagnostic);
      else this.#suppressed++;
    }
  }

  #mayWrite(): boolean {
    const now = this.#clock.monotonic();
    if (now >= this.#minuteEndsAt) {
      this.#minuteEndsAt = now + MINUTE_MS;
      this.#linesInMinute = 0;
      this.#reportSuppressed();
    }
    return this.#linesInMinute++ < MAX_PER_MINUTE;
  }

  #reportSuppressed(): void {
    if (this.#suppressed === 0) return;
    this.#log.warn(
      "More problems of resources were found than are logged; their statuses have them",
      { notLogged: this.#suppressed },
    );
    this.#suppressed = 0;
  }

  #write(diagnostic: Diagnostic): void {
    const level = diagnostic.severity === "warning" ? "warn" : "error";
    this.#log[level](formatDiagnostic(diagnostic));
  }
}
