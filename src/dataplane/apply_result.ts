import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import type { Outcomes } from "../compile/outcomes/outcomes.ts";

/** Requests under way when the gateway stopped. */
export interface DrainResult {
  readonly drained: number;
  /** Still running at the time-out. */
  readonly cut: number;
}

/** The result of applying a configuration. */
export interface ApplyResult {
  readonly applied: boolean;
  readonly diagnostics: readonly ResourceDiagnostic[];
  /** Error that kept valid resources from being applied, such as a port in use. */
  readonly reason?: string;
  /** The port, as configured, that `reason` is about. */
  readonly port?: number;
  /** The address of `port`; omitted for all addresses. */
  readonly address?: string;
  /** Conditions of gateways and routes, when it was applied. */
  readonly outcomes?: Outcomes;
}

/** Reason why a port cannot be opened. */
export type OpenFailure = Pick<ApplyResult, "reason" | "port" | "address">;
