import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log/log.ts";
import {
  type Diagnostic,
  formatDiagnostic,
} from "../config/diagnostics/located_diagnostic.ts";

/** Lines in a minute about the objects of one namespace. */
const MAX_PER_NAMESPACE = 100;
const MINUTE_MS = 60_000;

/** Logs the diagnostics of configurations. */
export class DiagnosticLog {
  readonly #log: Log;
  readonly #clock: Clock;
  /** Lines of the latest configuration. */
  #current: ReadonlySet<string> = new Set();
  /** Lines of this minute by namespace; `undefined` before the first one. */
  #counts: Map<string, number> | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Logs all diagnostics, as of a file that somebody has edited. */
  logAll(diagnostics: readonly Diagnostic[]): void {
    for (const diagnostic of diagnostics) this.#write(diagnostic);
  }

  /**
   * Logs each diagnostic when it appears, not again while it lasts, and at most 100 in a minute for each namespace: everybody with an
   * object in a cluster causes configurations at any time.
   */
  logNew(diagnostics: readonly Diagnostic[]): void {
    const known = this.#current;
    this.#current = new Set(diagnostics.map(formatDiagnostic));
    for (const diagnostic of diagnostics) {
      if (known.has(formatDiagnostic(diagnostic))) continue;
      if (this.#countLine(diagnostic) <= MAX_PER_NAMESPACE) {
        this.#write(diagnostic);
      }
    }
  }

  /** Ends the minute: logs how many lines were not logged. */
  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const counts = this.#counts ?? [];
    this.#counts = undefined;
    for (const [namespace, count] of counts) {
      if (count <= MAX_PER_NAMESPACE) continue;
      this.#log.warn(
        "More problems were found than are logged; the statuses of the objects have them",
        { namespace, notLogged: count - MAX_PER_NAMESPACE },
      );
    }
  }

  /** Returns the number of lines of this minute about the namespace, with this one. */
  #countLine(diagnostic: Diagnostic): number {
    this.#counts ??= this.#startMinute();
    const namespace = namespaceOf(diagnostic);
    const count = (this.#counts.get(namespace) ?? 0) + 1;
    this.#counts.set(namespace, count);
    return count;
  }

  #startMinute(): Map<string, number> {
    this.#cancelTimer = this.#clock.setTimer(() => this.close(), MINUTE_MS);
    return new Map();
  }

  #write(diagnostic: Diagnostic): void {
    const level = diagnostic.severity === "warning" ? "warn" : "error";
    this.#log[level](formatDiagnostic(diagnostic));
  }
}

/** Returns `team` of `HTTPRoute/team/one: spec.rules[0]`. */
function namespaceOf({ path }: Diagnostic): string {
  return path.split(":", 1)[0]?.split("/")[1] ?? "";
}
