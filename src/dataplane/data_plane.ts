import type { ResourceSet } from "../api/resource_set.ts";
import type { Diagnostic } from "../base/diagnostic.ts";

/**
 * The part that carries traffic, as seen by everything that does not: plain data in, plain data out, so that it may
 * run in this thread or in workers.
 */
export interface DataPlane {
  /** Compiles and puts into force; on any error nothing changes. */
  apply(resources: ResourceSet): Promise<ApplyResult>;
  /** The configuration in force, as `/config_dump` shows it, secrets redacted. */
  describe(): Promise<DataPlaneDescription>;
  /** Where requests are accepted now. */
  addresses(): Promise<readonly PortAddress[]>;
  /** Metrics in the Prometheus text format. */
  collectMetrics(): Promise<string>;
  /** Replaces the log filter; see `LogFilter`. */
  setLogLevel(filter: string): Promise<void>;
  /** Stops accepting, lets requests finish for at most `timeoutMs`, then cuts the rest; resolves when all is closed. */
  drain(timeoutMs: number): Promise<DrainResult>;
}

/** Requests that were under way at the stop. */
export interface DrainResult {
  readonly drained: number;
  /** Still running when the time was over. */
  readonly cut: number;
}

/** What became of a configuration. */
export interface ApplyResult {
  readonly applied: boolean;
  readonly diagnostics: readonly Diagnostic[];
  /** Why it was not applied although nothing is wrong with the resources, such as a port that is taken. */
  readonly reason?: string;
  /** The port, as configured, that `reason` is about. */
  readonly port?: number;
}

/** An address that accepts requests. */
export interface PortAddress {
  /** As configured; 0 asked for any. */
  readonly configuredPort: number;
  readonly hostname: string;
  readonly port: number;
}

/** Top-level keys of `/config_dump` that the data plane knows. */
export interface DataPlaneDescription {
  readonly binds: readonly unknown[];
  readonly listeners: readonly unknown[];
  readonly routes: readonly unknown[];
  readonly backends: readonly unknown[];
  readonly policies: readonly unknown[];
  /** State of the keys of identity providers: source, age, last error. */
  readonly keySets: readonly unknown[];
  /** Limits of this process, then those it shares: what is left of each. */
  readonly budgets: readonly unknown[];
}
