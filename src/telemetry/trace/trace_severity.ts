import { isJsonObject } from "../../base/json.ts";
import type {
  PolicyResult,
  TraceMessage,
  TraceSeverity,
} from "./trace_event.ts";

/** Returns the severity of an event. */
export function severityOf(message: TraceMessage): TraceSeverity {
  switch (message.type) {
    case "routeSelection":
      return message.selectedRoute === null ? "error" : "info";
    case "authorizationResult":
      return message.result === "allow" ? "success" : "error";
    case "rateLimit":
      if (message.result === "deny") return "error";
      return message.error === undefined ? "success" : "warn";
    case "policy":
      return severityOfResult(message, false);
    case "policyEvent":
      return isFailure(message.details) || hasFailed(message.details)
        ? "warn"
        : "info";
    case "cel":
      return isFailure(message.result) ? "warn" : "info";
    case "backendCallResult":
      return message.error !== null
        ? "error"
        : severityOfStatus(message.status);
    case "requestFinished":
      return message.error !== null && (message.status ?? 0) < 400
        ? "error"
        : severityOfStatus(message.status);
    case "eventsDropped":
      return "warn";
    default:
      return "info";
  }
}

/** Returns the severity of a policy's result. @param isCheck Whether the policy authenticates callers, so that going on is a success. */
export function severityOfResult(
  { result }: PolicyResult,
  isCheck: boolean,
): TraceSeverity {
  if (result.type === "reject") return "error";
  if (result.type === "skip") return "info";
  if (hasFailed(result.details)) return "warn";
  return isCheck ? "success" : "info";
}

function severityOfStatus(status: number | null): TraceSeverity {
  if (status === null || status >= 500) return "error";
  return status >= 400 ? "warn" : "info";
}

/** Returns whether a transformation reports expressions without a value: `{"failed": {"x-user": "…"}}`, or that in `response`. */
function hasFailed(details: unknown): boolean {
  if (!isJsonObject(details)) return false;
  const { failed, response } = details;
  return (isJsonObject(failed) && Object.keys(failed).length > 0) ||
    hasFailed(response);
}

function isFailure(result: unknown): boolean {
  return isJsonObject(result) && "error" in result;
}
