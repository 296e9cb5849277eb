import type { TrafficPolicyKind } from "../../api/resources/gateway_policy.ts";
import type { PolicyContext } from "../policy.ts";

/** Notes that an expression of such a policy had no value for the request, or none that can be used. */
export function noteFailedExpression(
  context: PolicyContext,
  kind: TrafficPolicyKind,
): void {
  (context.failedExpressions ??= []).push(kind);
}
