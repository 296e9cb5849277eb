import * as s from "../../api/schema/schema.ts";
import { requestState } from "./trace_state.ts";

/** Severity for readers; `success` when a check passed. */
const severity = s.oneOf(["success", "info", "warn", "error"]);

/** Severity of an event. */
export type TraceSeverity = s.Infer<typeof severity>;

/**
 * `initial request`, `gateway policies`, `route policies`, `final request`; between them, one after each policy that changed the
 * request, such as `jwt auth`, `gateway transformation` or `backend transformation`.
 */
export type RequestStage = string;

/** `raw response`, `backend response ready`, `response headers`, `final response`; between them, as for `RequestStage`. */
export type ResponseStage = string;

const verdict = s.oneOf(["allow", "deny"]);
const nullableText = s.nullable(s.string());

/** The events, in the order of a request that is forwarded. */
const traceMessage = s.variant("type", [
  event("requestStarted", {}),
  /** The request as it is at this stage. */
  event("requestSnapshot", {
    stage: s.string(),
    requestState,
  }),
  /** The policies in force in a phase, merged. */
  event("policySelection", {
    phase: s.openText<"gateway" | "route" | "backend">(),
    /** By kind, such as `{"jwt": {…}, "cors": null}`; `null` for kinds that the phase could have and has not. */
    effectivePolicy: s.map(s.string(), s.json()),
  }),
  /** The route chosen among the candidates for the host. */
  event("routeSelection", {
    /** Key as in `/config_dump`; `null` when none matched. */
    selectedRoute: nullableText,
    evaluatedRoutes: s.array(s.string()),
  }),
  /** The result of a policy for the request or response. */
  event("policy", {
    /** Such as `jwt`, `api_key`, `request_mirror`. */
    kind: s.string(),
    result: s.variant("type", [
      event("skip", { reason: s.string() }),
      event("apply", {
        details: s.json(),
        snapshot: s.nullable(requestState),
      }),
      /** The request ends here. `reason` is one line for people, such as `token expired`. */
      event("reject", { status: s.number(), reason: s.string() }),
    ]),
  }),
  /** Something that a policy met on its way to its result. */
  event("policyEvent", {
    /** Such as `jwt`, `api_key`, `request_mirror`. */
    kind: s.string(),
    /** Such as `{"waitedFor": "keys of https://idp.example.com/", "error": "Cannot get document: …"}`; `error` only on failure. */
    details: s.json(),
  }),
  /** An expression was evaluated. */
  event("cel", {
    expr: s.string(),
    requestState,
    /** The value, or `{"error": "no such key: scope"}`. */
    result: s.json(),
  }),
  /** The rules of an authorization. */
  event("authorizationResult", {
    /** Rules after the one that decided are not evaluated and not listed. */
    rules: s.array(s.openObject({
      /** The expression. */
      name: s.string(),
      matched: s.boolean(),
      mode: s.openText<"allow" | "deny" | "require">(),
      /** Error of a rule that could not be evaluated. */
      error: s.optional(s.string()),
      /** Of a rule that denied the request, the fields that it reads: `{"name": "apiKey.models", "value": "[\"a\"]"}`. */
      values: s.optional(
        s.array(s.openObject({ name: s.string(), value: s.string() })),
      ),
    })),
    result: verdict,
  }),
  /** The budgets of a policy. */
  event("rateLimit", {
    kind: s.openText<"local" | "global">(),
    /** Each budget after the decision. */
    entries: s.array(s.openObject({
      /** Such as `10 requests per 1m` or `domain/user=anna`. */
      name: s.string(),
      unit: s.openText<
        | "requests"
        | "concurrentRequests"
        | "tokens"
        | "inputTokens"
        | "outputTokens"
        | "usd"
      >(),
      limit: s.number(),
      remaining: s.number(),
      /** Held for requests in progress, in budgets that do so. */
      held: s.optional(s.number()),
      resetSeconds: s.number(),
      /** Key of the request, of a limit with keys that denied it; may be empty. */
      key: s.optional(s.string()),
      /** `skip` when the condition or key does not apply to this request. */
      verdict: s.openText<"allow" | "deny" | "skip">(),
    })),
    result: verdict,
    /** Error of a limiter without a verdict; `result` then follows the failure mode. */
    error: s.optional(s.string()),
  }),
  /** A call to the upstream begins; one for each attempt. `target` is `host:port`. */
  event("backendCallStart", { target: s.string() }),
  /** The head of the upstream's response, or why there was none. */
  event("backendCallResult", {
    status: s.nullable(s.number()),
    error: nullableText,
  }),
  /** The response as it is at this stage, with its request. */
  event("responseSnapshot", {
    stage: s.string(),
    requestState,
  }),
  /** A complete body, or its beginning. */
  event("bodySnapshot", {
    stage: s.openText<"final request" | "response">(),
    /** Standard base64. */
    body: s.string(),
    /** The body is longer than what is shown. */
    truncated: s.optional(s.literal(true)),
  }),
  /** The tokens that the LLM provider reported, and the tokens that the budgets are charged. */
  event("llmUsage", {
    /** Such as `openai`. */
    provider: s.string(),
    model: nullableText,
    /** Tokens of the prompt cache included. */
    inputTokens: s.number(),
    outputTokens: s.number(),
    debit: s.number(),
    /** US dollars; omitted when the model has no price. */
    costUsd: s.optional(s.number()),
  }),
  /** The reader was too slow: this many events are missing here. */
  event("eventsDropped", { count: s.number() }),
  /** The last byte was sent, or the client left. */
  event("requestFinished", {
    /** `null` when no response was sent. */
    status: s.nullable(s.number()),
    error: nullableText,
    /** As in the access log: `upstream`, `direct_response` or the code of the failure. */
    reason: s.optional(s.string()),
  }),
]);

function event<
  T extends string,
  const E extends Readonly<Record<string, s.GenericSchema>>,
>(type: T, fields: E) {
  return s.openObject({ type: s.literal(type), ...fields });
}

/** The envelope of `TraceMessage`. */
export const traceEvent = s.openObject({
  /** Start in microseconds since the request was accepted; `null` for what takes no time worth measuring. */
  eventStart: s.nullable(s.number()),
  /** Microseconds since the request was accepted. */
  eventEnd: s.number(),
  severity,
  /** The side calls, outermost first, during which this happened: `["keys of https://idp.example.com/"]`; omitted when there are none. */
  scope: s.optional(s.array(s.string())),
  message: traceMessage,
});

/**
 * A step of one traced request: plain JSON, as `/debug/trace` sends it and `gwctl proxy trace` reads it.
 *
 * A trace begins with `requestStarted`, ends with `requestFinished`, and keeps the order in which things happened.
 * Secrets are `<redacted>` from the moment they are recorded.
 */
export type TraceEvent = s.Infer<typeof traceEvent>;

/** The content of an event. */
export type TraceMessage = TraceEvent["message"];

type MessageOf<T extends TraceMessage["type"]> = Extract<
  TraceMessage,
  { readonly type: T }
>;

/** The policies in force in a phase. */
export type PolicySelection = MessageOf<"policySelection">;
/** The result of a policy. */
export type PolicyResult = MessageOf<"policy">;
/** Something that a policy met on its way to its result. */
export type PolicyEvent = MessageOf<"policyEvent">;
/** The verdict of an authorization. */
export type AuthorizationResult = MessageOf<"authorizationResult">;
/** The verdict of a rate limit. */
export type RateLimitResult = MessageOf<"rateLimit">;
/** A verdict that a policy reports with an event of its own. */
export type PolicyVerdict = AuthorizationResult | RateLimitResult;
/** One budget of a rate limit. */
export type RateLimitEntry = RateLimitResult["entries"][number];
/** The outcome of one attempt. */
export type BackendCallResult = MessageOf<"backendCallResult">;
/** A captured body. */
export type BodySnapshot = MessageOf<"bodySnapshot">;
/** The token usage of the request. */
export type LlmUsage = MessageOf<"llmUsage">;
/** The end of the request. */
export type RequestFinished = MessageOf<"requestFinished">;
