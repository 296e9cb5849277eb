import type { TokenUsage } from "../../llm/usage/token_usage.ts";

/** A finished request: one record for access log, metrics, spans, traffic, usage and the memory of requests. */
export interface FinishedRequest {
  /** Time of acceptance, in milliseconds since the epoch. */
  readonly time: number;
  /** From acceptance to the last byte; `undefined` for a request rejected before it could be read. */
  readonly durationMs?: number | undefined;
  /** Port of the configuration that the request arrived on. */
  readonly port: number;
  /** Names of the parts that served the request; `undefined` when it did not get that far. */
  readonly gateway?: string | undefined;
  readonly listener?: string | undefined;
  readonly route?: string | undefined;
  readonly backend?: string | undefined;
  /** LLM provider, such as `openai`. */
  readonly provider?: string | undefined;
  /** Address of the upstream, such as `127.0.0.1:9000`. */
  readonly endpoint?: string | undefined;
  /** Address of the client, such as `127.0.0.1:51000`. */
  readonly source: string;
  /** Identity of the client, such as the subject of its token; empty without one. */
  readonly client: string;
  /** User, team and tag of the client. */
  readonly owner?: RequestOwner | undefined;
  /** Empty, like the other strings of the request, when it was rejected before they were read. */
  readonly method: string;
  /** As the client sent it. */
  readonly host: string;
  /** Without the query, which may contain secrets. */
  readonly path: string;
  /** Such as `1.1`. */
  readonly version: string;
  readonly status: number;
  /** Bytes of the response body. */
  readonly bytesSent: number;
  readonly requestId: string;
  /** `x-request-id` of the response if it differs: LLM providers send their own. */
  readonly upstreamRequestId?: string | undefined;
  /** Time until the upstream's response head; `undefined` when no upstream was called. */
  readonly upstreamDurationMs?: number | undefined;
  /** Time until the first output of a streamed LLM response; `undefined` for other responses. */
  readonly firstTokenMs?: number | undefined;
  /** Source of the response: `upstream`, `direct_response` for a policy, why a policy denied the request, or the error code. */
  readonly reason: string;
  /** Error message, for the log only. */
  readonly error?: string | undefined;
  /** Attempts after the first. */
  readonly retries: number;
  /** Backends that others have replaced, with why: `["openai=429"]`. */
  readonly failedOver?: readonly string[] | undefined;
  /** Fields that the LLM provider did not get, as its API does not have them: `["tools[].strict"]`. */
  readonly dropped?: readonly string[] | undefined;
  /** Target of a message to an endpoint of MCP servers. */
  readonly mcp?: {
    readonly methodName?: string;
    /** `undefined` if the name of the target does not say it. */
    readonly server?: string;
    /** Name as clients know it. */
    readonly tool?: { readonly name: string };
  } | undefined;
  /** Place of the request in a trace; `undefined` where requests have no spans. */
  readonly trace?: {
    readonly traceId: string;
    readonly spanId: string;
    readonly isSampled: boolean;
  } | undefined;
  /** Tokens, when an LLM responded. */
  readonly usage?: TokenUsage | undefined;
  /** `usage` was counted in parts while the request was open. */
  readonly countedInParts?: boolean | undefined;
  /** Model of a response whose tokens a budget needs and nobody could count; `undefined` for all other requests. */
  readonly uncounted?: { readonly model: string | undefined } | undefined;
  /** Kind of the policy of each expression that had no value for the request; `undefined` when all had one. */
  readonly failedExpressions?: readonly string[] | undefined;
}

/** Those to whom use is charged; what a client does not have is not set. */
export interface RequestOwner {
  readonly user?: string | undefined;
  readonly team?: string | undefined;
  readonly tag?: string | undefined;
}

/** The part of a record that says who used what. */
export type RequestUse = Pick<
  FinishedRequest,
  | "time"
  | "client"
  | "owner"
  | "route"
  | "backend"
  | "provider"
  | "mcp"
  | "usage"
  | "uncounted"
>;
