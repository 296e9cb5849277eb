import type { JsonValue, RequestState } from "./trace_state.ts";

/**
 * What happened to one traced request: plain JSON, as `/debug/trace` sends it and `gwctl proxy trace` reads it.
 *
 * A trace begins with `requestStarted`, ends with `requestFinished`, and keeps the order in which things happened.
 * Secrets are `<redacted>` from the moment they are recorded.
 */
export interface TraceEvent {
  /** When it began, in microseconds since the request was accepted; `null` for what takes no time worth measuring. */
  readonly eventStart: number | null;
  /** Microseconds since the request was accepted. */
  readonly eventEnd: number;
  readonly severity: TraceSeverity;
  /** The side calls, outermost first, during which this happened: `["keys of https://idp.example.com/"]`. Left out when there is none. */
  readonly scope?: readonly string[];
  readonly message: TraceMessage;
}

/** `success` is said where something was checked and passed. */
export type TraceSeverity = "success" | "info" | "warn" | "error";

/** The events, in the order of a request that is forwarded. */
export type TraceMessage =
  | RequestStarted
  | RequestSnapshot
  | PolicySelection
  | RouteSelection
  | PolicyResult
  | PolicyEvent
  | CelEvaluation
  | AuthorizationResult
  | RateLimitResult
  | BackendCallStart
  | BackendCallResult
  | ResponseSnapshot
  | BodySnapshot
  | LlmUsage
  | EventsDropped
  | RequestFinished;

/** The request was accepted. */
export interface RequestStarted {
  readonly type: "requestStarted";
}

/** The request as it is at this stage. */
export interface RequestSnapshot {
  readonly type: "requestSnapshot";
  readonly stage: RequestStage;
  readonly requestState: RequestState;
}

/** The response as it is at this stage, with the request it answers. */
export interface ResponseSnapshot {
  readonly type: "responseSnapshot";
  readonly stage: ResponseStage;
  readonly requestState: RequestState;
}

/** Between the four fixed stages comes one after each policy that changed the request. */
export type RequestStage =
  | "initial request"
  | "gateway policies"
  | "route policies"
  | "final request"
  | AppliedPolicyStage
  | `gateway ${AppliedPolicyStage}`
  | `backend ${AppliedPolicyStage}`;

/** As `RequestStage`, for the way back. */
export type ResponseStage =
  | "raw response"
  | "backend response ready"
  | "response headers"
  | "final response"
  | AppliedPolicyStage
  | `gateway ${AppliedPolicyStage}`
  | `backend ${AppliedPolicyStage}`;

/** What a policy's stage is called. */
export type AppliedPolicyStage =
  | "cors"
  | "jwt auth"
  | "basic auth"
  | "api key"
  | "authorization"
  | "local rate limit"
  | "remote rate limit"
  | "transformation"
  | "request header modifier"
  | "response header modifier"
  | "url rewrite"
  | "request redirect"
  | "direct response";

/** A body, once it is over or as much of it as is kept. */
export interface BodySnapshot {
  readonly type: "bodySnapshot";
  readonly stage: "final request" | "response";
  /** Standard base64. */
  readonly body: string;
  /** There was more. */
  readonly truncated?: true;
}

/** The policies that are in force in a phase, merged. */
export interface PolicySelection {
  readonly type: "policySelection";
  readonly phase: "gateway" | "route" | "backend";
  /** By kind, such as `{"jwt": {…}, "cors": null}`; `null` for kinds that the phase could have and has not. */
  readonly effectivePolicy: Readonly<Record<string, JsonValue>>;
}

/** Which route was chosen, of the candidates for the host. */
export interface RouteSelection {
  readonly type: "routeSelection";
  /** Key as in `/config_dump`; `null` when none matched. */
  readonly selectedRoute: string | null;
  readonly evaluatedRoutes: readonly string[];
}

/** What a policy did with the request or response. */
export interface PolicyResult {
  readonly type: "policy";
  readonly kind: TracedPolicyKind;
  readonly result:
    | { readonly type: "skip"; readonly reason: string }
    | {
      readonly type: "apply";
      readonly details: JsonValue;
      readonly snapshot: RequestState | null;
    }
    /** The request ends here. `reason` is one line for people, such as `token expired`. */
    | {
      readonly type: "reject";
      readonly status: number;
      readonly reason: string;
    };
}

/** Something that a policy met on its way to its result. */
export interface PolicyEvent {
  readonly type: "policyEvent";
  readonly kind: TracedPolicyKind;
  /** Such as `{"waitedFor": "keys of https://idp.example.com/", "error": "Cannot get document: …"}`; no `error` where all went well. */
  readonly details: JsonValue;
}

/** Policies that report with `policy` and `policyEvent`. */
export type TracedPolicyKind =
  | "cors"
  | "jwt"
  | "mcp"
  | "basic_auth"
  | "api_key"
  | "transformation"
  | "request_header_modifier"
  | "response_header_modifier"
  | "url_rewrite"
  | "request_redirect"
  | "request_mirror"
  | "direct_response"
  | "retry"
  | "llm_cost";

/** An expression was evaluated. */
export interface CelEvaluation {
  readonly type: "cel";
  readonly expr: string;
  readonly requestState: RequestState;
  /** The value, or `{"error": "no such key: scope"}`. */
  readonly result: JsonValue;
}

/** What the rules of an authorization said. */
export interface AuthorizationResult {
  readonly type: "authorizationResult";
  readonly rules: readonly AuthorizationRuleResult[];
  readonly result: "allow" | "deny";
}

/** One rule; those after the one that decided are not evaluated and not listed. */
export interface AuthorizationRuleResult {
  /** The expression. */
  readonly name: string;
  readonly matched: boolean;
  readonly mode: "allow" | "deny" | "require";
  /** Why it could not be evaluated. */
  readonly error?: string;
}

/** What the budgets of a policy said. */
export interface RateLimitResult {
  readonly type: "rateLimit";
  readonly kind: "local" | "global";
  readonly entries: readonly RateLimitEntry[];
  readonly result: "allow" | "deny";
  /** Why there was no verdict; `result` is then what the failure mode says. */
  readonly error?: string;
}

/** One budget as it is after the decision. */
export interface RateLimitEntry {
  /** Such as `10 requests per 1m` or `domain/user=anna`. */
  readonly name: string;
  readonly unit: "requests" | "tokens";
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
  /** `skip` when the entry's condition or key does not apply to this request. */
  readonly verdict: "allow" | "deny" | "skip";
}

/** A call to the upstream begins; one for each try. */
export interface BackendCallStart {
  readonly type: "backendCallStart";
  /** `host:port`. */
  readonly target: string;
}

/** The head of the upstream's answer, or why there was none. */
export interface BackendCallResult {
  readonly type: "backendCallResult";
  readonly status: number | null;
  readonly error: string | null;
}

/** What the LLM provider said about tokens, and what the budgets are charged. */
export interface LlmUsage {
  readonly type: "llmUsage";
  /** Such as `openai`. */
  readonly provider: string;
  readonly model: string | null;
  /** With tokens of the prompt cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly debit: number;
}

/** The reader was too slow: this many events are missing here. */
export interface EventsDropped {
  readonly type: "eventsDropped";
  readonly count: number;
}

/** The last byte was sent, or the client left. */
export interface RequestFinished {
  readonly type: "requestFinished";
  /** `null` when there was no answer to send. */
  readonly status: number | null;
  readonly error: string | null;
  /** As in the access log: `upstream`, `direct_response` or the code of the failure. */
  readonly reason?: string;
}
