import type { ResourceDiagnostic } from "../../base/diagnostic.ts";

/** A condition of a status, without times; Kubernetes `metav1.Condition`. */
export interface Condition {
  /** Such as `Accepted`. */
  readonly type: string;
  readonly status: boolean;
  /** Such as `NoMatchingParent`. */
  readonly reason: string;
  /** Empty when there is nothing to say. */
  readonly message: string;
}

/** Creates a condition that holds. */
export function conditionYes(
  type: string,
  reason = type,
  message = "",
): Condition {
  return { type, status: true, reason, message };
}

/** Creates a condition that does not hold. */
export function conditionNo(
  type: string,
  reason: string,
  message: string,
): Condition {
  return { type, status: false, reason, message };
}

/** Returns a condition that does not hold, as compilation reported it. */
export function failed(
  type: string,
  { reason = "Invalid", message }: ResourceDiagnostic,
): Condition {
  return conditionNo(type, reason, message);
}

/** Returns a condition that holds unless compilation reported a problem. */
export function unless(
  problem: ResourceDiagnostic | undefined,
  type: string,
): Condition {
  return problem === undefined ? conditionYes(type) : failed(type, problem);
}
