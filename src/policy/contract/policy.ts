import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { Identity } from "./identity.ts";
import type { ResponseCounts } from "../../llm/usage/token_usage.ts";
import type { PolicyTrace } from "./policy_trace.ts";
import type { Rejection } from "./rejection.ts";
import type { Slots } from "./slot.ts";

/** Pages that may read a response, whatever a CORS policy says. */
export type ReadableBy = "every page" | "no page";

/** The request that a policy runs on. Policies share values with each other in `slots`. */
export interface PolicyContext {
  /** Current state: earlier policies may have changed it. */
  readonly request: RequestMessage;
  /** The peer, or the client that a trusted proxy names. */
  readonly client: RequestMessage["source"];
  /** Value of `x-request-id`. */
  readonly requestId: string;
  /** When the request was accepted, in milliseconds since the epoch. */
  readonly acceptedAt: number;
  /** Name of the gateway that accepted it. */
  readonly gateway: string | undefined;
  /** The chosen route, such as `default/llm`; `undefined` before routing. */
  readonly route?: string | undefined;
  /** Path that the chosen route matched by prefix, such as `/v1`; `undefined` before routing and for other matches. */
  readonly matchedPrefix: string | undefined;
  /** Returns the MCP server of a tool, prompt or resource behind an endpoint of several; `undefined` if the configuration alone does not say it. */
  mcpServer?(
    kind: "tool" | "prompt" | "resource",
    name: string,
  ): string | undefined;
  /** Returns the task of a tool of the gateway's own, where clients search for tools; `undefined` for tools of servers. */
  discoveryRole?(name: string): "search" | "describe" | "call" | undefined;
  /** Path of the resource, such as `/mcp`, for requests for its metadata that do not name it. */
  readonly resourcePath?: string | undefined;
  /**
   * Pages that may read the response by decision of a policy that answers the request itself; `undefined` leaves that to CORS.
   * Before routing, it is that of the route which would match now.
   */
  readonly readableBy?: ReadableBy | undefined;
  /** Scopes that every request needs a token for, as far as the policies here know; for challenges. */
  readonly requiredScopes: readonly string[];
  readonly slots: Slots;
  /** Set while the request is traced. */
  readonly trace?: PolicyTrace | undefined;
  /** Set once a request to an LLM goes upstream. */
  readonly responseUsage?: ResponseCounts | undefined;
}

/**
 * One effect on requests, responses or both: the unit that configuration attaches and the pipeline runs.
 *
 * `onRequest` runs in the order of the registry. If it returns a response or a rejection, the request phase ends; if it throws a
 * `GatewayError`, the request is rejected. In each case `onResponse` then runs, in reverse order, for every policy that saw the
 * request, so that CORS also decorates rejections. A hook that has nothing to await returns no promise.
 *
 * A policy does all work that depends only on the configuration when it is created.
 *
 * @typeParam Reason Reasons of the rejections that it returns, which its kind declares.
 */
export interface Policy<Reason extends string = string> {
  /** Scopes without which it denies every request; challenges of policies before it name them. */
  readonly requiredScopes?: readonly string[];
  onRequest?(
    context: PolicyContext,
  ): RequestVerdict<Reason> | Promise<RequestVerdict<Reason>>;
  onResponse?(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void>;
  /** Decides which pages may read the response, for requests that the policy answers itself. */
  readableBy?(context: PolicyContext): ReadableBy | undefined;
}

/** The part of a kind that the pipeline needs while its policies run. */
export interface RunningKind {
  /** Such as `cors`. */
  readonly name: string;
  /** Identity that it verifies; `undefined` when it authenticates nobody. */
  readonly identity: Identity | undefined;
  readonly trace: {
    /** `kind` of its trace events; `undefined` for kinds that report with events of their own. */
    readonly event: string | undefined;
    /**
     * Names the stage of the snapshot after a change.
     * @param reported `kind` of the policies' reports on this request so far.
     */
    stageOf(
      side: "request" | "response",
      reported: ReadonlySet<string>,
    ): string;
  };
}

/** A policy that the pipeline runs. */
export interface RunningPolicy extends Policy {
  readonly kind: RunningKind;
}

/** Response or rejection that ends the request phase. */
export type PolicyOutcome<Reason extends string = string> =
  | ResponseMessage
  | Rejection<Reason>;

/** `undefined` continues with the next policy. */
export type RequestVerdict<Reason extends string = string> =
  | PolicyOutcome<Reason>
  | void;
