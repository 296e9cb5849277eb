import type { RequestMessage, ResponseMessage } from "../http/message.ts";
import type { PolicyTrace } from "./policy_trace.ts";
import type { Refusal } from "./refusal.ts";
import type { Slots } from "./slot.ts";

/** The request that a policy runs on. It names no policy: what policies leave for each other is in `slots`. */
export interface PolicyContext {
  /** As it is now: earlier policies may have changed it. */
  readonly request: RequestMessage;
  /** Value of `x-request-id`. */
  readonly requestId: string;
  /** When the request was accepted, in milliseconds since the epoch. */
  readonly acceptedAt: number;
  /** Name of the gateway that accepted it. */
  readonly gateway: string | undefined;
  /** Path that the chosen route matched by prefix, such as `/v1`; `undefined` before routing and for other matches. */
  readonly matchedPrefix: string | undefined;
  /** Path of the resource when the request looks for its metadata without naming it, such as `/mcp`. */
  readonly resourcePath?: string | undefined;
  readonly slots: Slots;
  /** Set while the request is traced. */
  readonly trace?: PolicyTrace | undefined;
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
