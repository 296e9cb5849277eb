import type { TrafficPolicyKind } from "../api/resources/gateway_policy.ts";
import type { RequestMessage, ResponseMessage } from "../http/message.ts";
import type { LlmCall } from "./expressions/llm_call.ts";
import type { LlmRequest } from "./expressions/llm_variable.ts";
import type { McpMessage } from "./expressions/mcp_variable.ts";
import type { PolicyTrace } from "./policy_trace.ts";
import type { Admission } from "./rate_limit/rate_limit_admission.ts";
import type { Refusal } from "./refusal.ts";
import type { RequestIdentity } from "./authentication/request_identity.ts";

/** What policies see of the request that they run on. */
export interface PolicyContext {
  /** As it is now: earlier policies may have changed it. */
  readonly request: RequestMessage;
  /** Value of `x-request-id`. */
  readonly requestId: string;
  /** When the request was accepted, in milliseconds since the epoch. */
  readonly acceptedAt: number;
  /** Name of the gateway that accepted it. */
  readonly gateway: string | undefined;
  /** Filled in by the policies that authenticate. */
  readonly identity: RequestIdentity;
  /** Path that the chosen route matched by prefix, such as `/v1`; `undefined` before routing and for other matches. */
  readonly matchedPrefix: string | undefined;
  /** Path of the MCP server when the request looks for it without naming it, such as `/mcp`. */
  readonly mcpPath?: string | undefined;
  /** Set by the rate limits that admitted the request. */
  rateLimit?: Admission | undefined;
  /** Headers that the gateway writes for clients, in lower case: CORS lets pages of other origins read those that an answer has. */
  exposedHeaders?: readonly string[] | undefined;
  /** Set while somebody watches the request. */
  readonly trace?: PolicyTrace | undefined;
  /** What the request uses of an LLM. */
  readonly llm: LlmCall;
  /** The variable `llm`, where an expression asked for it and the body could be read. */
  llmRequest?: LlmRequest | undefined;
  /** What the variable `mcp` tells, likewise. */
  mcpMessage?: McpMessage | undefined;
  /** By policy: each expression that had no value for the request, such as `["rateLimit", "rateLimit"]`. */
  failedExpressions?: TrafficPolicyKind[] | undefined;
}

/**
 * One effect on requests, responses or both: the unit that configuration attaches and the pipeline runs.
 *
 * `onRequest` runs in the order of `registry.ts`; answering a response (a direct response) or a refusal ends the request phase,
 * throwing a `GatewayError` rejects the request. In each case `onResponse` then runs, in reverse order, on every policy that saw the request,
 * so that CORS still decorates a rejection. A hook that has nothing to wait for answers without a promise.
 *
 * Everything that can be decided from the configuration is decided when the policy is created; hooks only look at the message.
 */
export interface Policy {
  /** Name in configuration, such as `cors`. */
  readonly kind: string;
  onRequest?(context: PolicyContext): RequestVerdict | Promise<RequestVerdict>;
  onResponse?(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void>;
}

/** What ends the request phase. */
export type PolicyAnswer = ResponseMessage | Refusal;

/** Go on, or answer. */
export type RequestVerdict = PolicyAnswer | void;
