import { isJsonObject } from "../../../base/json.ts";
import type {
  AuthorizationResult,
  BackendCallResult,
  BodySnapshot,
  PolicyEvent,
  PolicyResult,
  PolicySelection,
  RateLimitResult,
  RequestFinished,
  TraceMessage,
} from "../trace_event.ts";
import { decodeBody } from "./decode_body.ts";

/** Summarizes the content of an event in one line such as `401 jwt: token expired`. The result may be unsafe to print. */
export function summarizeMessage(message: TraceMessage): string {
  switch (message.type) {
    case "requestStarted":
      return "request accepted";
    case "requestSnapshot": {
      const { request, backend } = message.requestState;
      const { method, uri, pathAndQuery } = request;
      // Later ones are short, as 80 columns leave 40 for the summary.
      const target = message.stage === "initial request" ? uri : pathAndQuery;
      const to = backend === undefined ? "" : ` to ${backend.name}`;
      return `${message.stage}: ${method} ${target}${to}`;
    }
    case "responseSnapshot": {
      const { response } = message.requestState;
      return `${message.stage}: ${response?.code ?? "no response"}`;
    }
    case "bodySnapshot":
      return `${message.stage}: ${summarizeBody(message)}`;
    case "policySelection":
      return summarizeSelection(message);
    case "routeSelection": {
      const { selectedRoute, evaluatedRoutes: { length } } = message;
      // For failed requests, only the matched route is recorded.
      const isOnly = selectedRoute !== null && length === 1;
      return `${selectedRoute ?? "no route"} matched${
        isOnly ? "" : ` of ${length}`
      }`;
    }
    case "policy":
      return summarizePolicy(message);
    case "policyEvent":
      return summarizePolicyEvent(message);
    case "cel":
      return `${message.expr} → ${compact(message.result)}`;
    case "authorizationResult":
      return summarizeAuthorization(message);
    case "rateLimit":
      return summarizeRateLimit(message);
    case "backendCallStart":
      return `calling ${message.target}`;
    case "backendCallResult":
      return summarizeCall(message);
    case "llmUsage":
      return `${
        message.model ?? message.provider
      }: ${message.inputTokens} in, ${message.outputTokens} out, ${message.debit} charged`;
    case "eventsDropped":
      return `${message.count} events dropped: the reader was too slow`;
    case "requestFinished":
      return summarizeEnd(message);
  }
}

function summarizeBody(message: BodySnapshot): string {
  const { byteLength, text } = decodeBody(message.body, 300);
  const note = message.truncated === true ? ", truncated" : "";
  return `${byteLength} bytes${note}${text === undefined ? "" : ` ${text}`}`;
}

function summarizeSelection({ phase, effectivePolicy }: PolicySelection) {
  const kinds = Object.entries(effectivePolicy)
    .filter(([, value]) => value !== null).map(([kind]) => kind);
  return `${phase}: ${kinds.length === 0 ? "no policies" : kinds.join(", ")}`;
}

function summarizePolicy({ kind, result }: PolicyResult): string {
  switch (result.type) {
    case "skip":
      return `${kind} skipped: ${result.reason}`;
    case "reject":
      return `${result.status} ${kind}: ${result.reason}`;
    case "apply":
      return (result.details ?? null) === null
        ? `${kind} applied`
        : `${kind} applied: ${compact(result.details)}`;
  }
}

function summarizePolicyEvent({ kind, details }: PolicyEvent): string {
  if (isJsonObject(details) && typeof details["waitedFor"] === "string") {
    const { waitedFor, error } = details;
    const outcome = typeof error === "string" ? `: ${error}` : "";
    return `${kind} waited for ${waitedFor}${outcome}`;
  }
  return `${kind}: ${compact(details)}`;
}

function summarizeAuthorization({ rules, result }: AuthorizationResult) {
  if (result === "allow") {
    return `allowed by ${rules.length} ${
      rules.length === 1 ? "rule" : "rules"
    }`;
  }
  const denying = rules.find(({ matched, mode, error }) =>
    error !== undefined || (mode === "deny" ? matched : !matched)
  );
  if (denying === undefined) return "denied: no rule allows it";
  const { name, error, values = [] } = denying;
  const fields = values.map(({ name, value }) => `${name} is ${value}`);
  const why = error === undefined ? fields : [error, ...fields];
  return `denied by ${name}${why.length === 0 ? "" : `: ${why.join(", ")}`}`;
}

function summarizeRateLimit(
  { kind, entries, result, error }: RateLimitResult,
): string {
  if (error !== undefined && error !== null) {
    return `${kind} ${
      result === "allow" ? "allowed" : "denied"
    } without a verdict: ${error}`;
  }
  const exhausted = entries.find(({ verdict }) => verdict === "deny");
  if (exhausted !== undefined) {
    const { name, resetSeconds, unit } = exhausted;
    if (unit === "concurrentRequests") return `429 ${kind}: ${name} exceeded`;
    return `429 ${kind}: ${name} exceeded, resets in ${resetSeconds} s`;
  }
  const counted = entries.filter(({ verdict }) => verdict === "allow")
    .toSorted((a, b) => a.remaining - b.remaining);
  const [least] = counted;
  if (least === undefined) return `${kind}: no budget applies`;
  return `${kind}: ${least.remaining} of ${least.limit} ${least.unit} left`;
}

function summarizeCall({ status, error }: BackendCallResult): string {
  if (error !== null && error !== undefined) return `failed: ${error}`;
  return `returned ${status}`;
}

function summarizeEnd({ status, error, reason }: RequestFinished): string {
  const code = status ?? "no response";
  const why = error ?? reason;
  return why === undefined || why === "upstream"
    ? String(code)
    : `${code} ${why}`;
}

function compact(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
