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
} from "../../../src/telemetry/trace/trace_event.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import type { ReceivedEvent } from "./decode_event.ts";
import { decodeBody } from "./injected_body.ts";

/** What an event says, in one line such as `401 jwt: token expired`. Not yet safe to print. */
export function summarise(event: ReceivedEvent): string {
  const { message, json, eventStart, eventEnd } = event;
  const text = message === undefined
    ? JSON.stringify(json["message"])
    : summariseMessage(message);
  const took = eventStart === null
    ? ""
    : ` in ${formatTime(eventEnd - eventStart)}`;
  const scope = event.scope.map((name) => `[${name}] `).join("");
  return `${scope}${shorten(text)}${took}`.replaceAll(/\s+/g, " ");
}

function shorten(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}…`;
}

/** Nobody reads more in a list. */
const MAX_LENGTH = 500;

/** A number of microseconds, such as `850 µs`, `12.3 ms` or `1.20 s`. */
export function formatTime(micros: number): string {
  if (micros < 1000) return `${micros} µs`;
  const millis = micros / 1000;
  if (millis < 1000) return `${millis.toPrecision(3)} ms`;
  return `${(millis / 1000).toFixed(2)} s`;
}

function summariseMessage(message: TraceMessage): string {
  switch (message.type) {
    case "requestStarted":
      return "request accepted";
    case "requestSnapshot": {
      const { request, backend } = message.requestState;
      const { method, uri, pathAndQuery } = request;
      // Later ones are short: 80 columns leave 40 for all of it.
      const target = message.stage === "initial request" ? uri : pathAndQuery;
      const to = backend === undefined ? "" : ` to ${backend.name}`;
      return `${message.stage}: ${method} ${target}${to}`;
    }
    case "responseSnapshot": {
      const { response } = message.requestState;
      return `${message.stage}: ${response?.code ?? "no response"}`;
    }
    case "bodySnapshot":
      return `${message.stage}: ${summariseBody(message)}`;
    case "policySelection":
      return summariseSelection(message);
    case "routeSelection": {
      const { selectedRoute, evaluatedRoutes: { length } } = message;
      // Of a request that failed, no others are remembered than the one that matched.
      const alone = selectedRoute !== null && length === 1;
      return `${selectedRoute ?? "no route"} matched${
        alone ? "" : ` of ${length}`
      }`;
    }
    case "policy":
      return summarisePolicy(message);
    case "policyEvent":
      return summarisePolicyEvent(message);
    case "cel":
      return `${message.expr} → ${compact(message.result)}`;
    case "authorizationResult":
      return summariseAuthorization(message);
    case "rateLimit":
      return summariseRateLimit(message);
    case "backendCallStart":
      return `calling ${message.target}`;
    case "backendCallResult":
      return summariseCall(message);
    case "llmUsage":
      return `${
        message.model ?? message.provider
      }: ${message.inputTokens} in, ${message.outputTokens} out, ${message.debit} charged`;
    case "eventsDropped":
      return `${message.count} events are missing here: this reader was too slow`;
    case "requestFinished":
      return summariseEnd(message);
  }
}

function summariseBody(message: BodySnapshot): string {
  const { byteLength, text } = decodeBody(message.body, 300);
  const cut = message.truncated === true ? ", cut" : "";
  return `${byteLength} bytes${cut}${text === undefined ? "" : ` ${text}`}`;
}

function summariseSelection({ phase, effectivePolicy }: PolicySelection) {
  const kinds = Object.entries(effectivePolicy)
    .filter(([, value]) => value !== null).map(([kind]) => kind);
  return `${phase}: ${kinds.length === 0 ? "no policies" : kinds.join(", ")}`;
}

function summarisePolicy({ kind, result }: PolicyResult): string {
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

function summarisePolicyEvent({ kind, details }: PolicyEvent): string {
  if (isJsonObject(details) && typeof details["waitedFor"] === "string") {
    const { waitedFor, error } = details;
    const outcome = typeof error === "string" ? `: ${error}` : "";
    return `${kind} waited for ${waitedFor}${outcome}`;
  }
  return `${kind}: ${compact(details)}`;
}

function summariseAuthorization({ rules, result }: AuthorizationResult) {
  if (result === "allow") {
    return `allowed by ${rules.length} ${
      rules.length === 1 ? "rule" : "rules"
    }`;
  }
  const refusing = rules.find(({ matched, mode, error }) =>
    error !== undefined || (mode === "deny" ? matched : !matched)
  );
  if (refusing === undefined) return "denied: no rule allows it";
  const { name, error } = refusing;
  return `denied by ${name}${error === undefined ? "" : `: ${error}`}`;
}

function summariseRateLimit(
  { kind, entries, result, error }: RateLimitResult,
): string {
  if (error !== undefined && error !== null) {
    return `${kind} ${
      result === "allow" ? "allowed" : "denied"
    } without a verdict: ${error}`;
  }
  const refusing = entries.find(({ verdict }) => verdict === "deny");
  if (refusing !== undefined) {
    const { name, resetSeconds } = refusing;
    return `429 ${kind}: ${name} used up, more in ${resetSeconds} s`;
  }
  const counted = entries.filter(({ verdict }) => verdict === "allow")
    .toSorted((a, b) => a.remaining - b.remaining);
  const [least] = counted;
  if (least === undefined) return `${kind}: no budget applies`;
  return `${kind}: ${least.remaining} of ${least.limit} ${least.unit} left`;
}

function summariseCall({ status, error }: BackendCallResult): string {
  if (error !== null && error !== undefined) return `failed: ${error}`;
  return `answered ${status}`;
}

function summariseEnd({ status, error, reason }: RequestFinished): string {
  const code = status ?? "no answer";
  const why = error ?? reason;
  return why === undefined || why === "upstream"
    ? String(code)
    : `${code} ${why}`;
}

function compact(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
