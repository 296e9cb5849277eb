import type { RecordedCall } from "../failures/recorded_request.ts";
import type { FailingPart } from "../failures/explanation.ts";
import type { RecordedEvent } from "../failures/failure_events.ts";

/** One line about a request that has ended. Times are in milliseconds; `null` stands for what a request does not have. */
export interface LoggedRequest {
  /** Identifies this record; `id` comes from clients. */
  readonly record: string;
  /** Value of `x-request-id`; `refused-<n>` for a request rejected before it could be read. */
  readonly id: string;
  /** Acceptance, RFC 3339. */
  readonly time: string;
  /** When it was recorded, in milliseconds since the epoch. */
  readonly recordedAt: number;
  readonly status: number;
  /** Responses with an error status, or broken off. */
  readonly hasFailed: boolean;
  /** Reason of the failure, one sentence; `null` if there is none. */
  readonly cause: string | null;
  /** As in the access log. */
  readonly reason: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly gateway: string | null;
  readonly route: string | null;
  readonly backend: string | null;
  readonly model: string | null;
  /** Identity of the client. */
  readonly key: string | null;
  /** MCP server of the message, behind an endpoint of several. */
  readonly mcpServer: string | null;
  /** MCP tool that it calls, as the client names it. */
  readonly mcpTool: string | null;
  readonly durationMs: number | null;
  readonly firstTokenMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** `null` also for models without a price. */
  readonly costUsd: number | null;
  readonly retries: number;
}

/** Everything that was recorded about a request. */
export interface RequestReport extends LoggedRequest {
  readonly failing: FailingPart | null;
  /** Advice to fix it. */
  readonly advice: string | null;
  /** Key of the route, such as `default/chat/0`. */
  readonly routeKey: string | null;
  /** Attempts to reach the backend, in order. */
  readonly calls: readonly RecordedCall[];
  /** The recorded part of its trace. */
  readonly events: readonly RecordedEvent[];
}

/** Selects requests; texts are searched for in any case. */
export interface RequestQuery {
  /** `failed`, `succeeded`, or the first digit: `4xx`. */
  readonly status?: string | undefined;
  readonly route?: string | undefined;
  readonly model?: string | undefined;
  readonly key?: string | undefined;
  readonly mcpServer?: string | undefined;
  readonly mcpTool?: string | undefined;
  /** Anywhere in the line. */
  readonly text?: string | undefined;
  /** Only those recorded since, in milliseconds since the epoch. */
  readonly since?: number | undefined;
  readonly limit: number;
}

/** A part of the log of requests. */
export interface RequestPage {
  /** The next query for news has this as `since`, in milliseconds since the epoch. */
  readonly takenAt: number;
  /** Newest first. */
  readonly requests: readonly LoggedRequest[];
  /** Requests that succeeded since the start, and how many of them were recorded. */
  readonly successes: number;
  readonly sampled: number;
}

/** Selects requests. */
export function selectRequests(
  requests: Iterable<LoggedRequest>,
  query: RequestQuery,
): readonly LoggedRequest[] {
  const selected: LoggedRequest[] = [];
  for (const request of requests) {
    if (selected.length >= query.limit) break;
    if (matches(request, query)) selected.push(request);
  }
  return selected;
}

/** Merges the logs of several workers. @param takenAt Time before the first of them was read. */
export function mergeRequests(
  pages: readonly RequestPage[],
  { limit }: RequestQuery,
  takenAt: number,
): RequestPage {
  return {
    takenAt,
    requests: pages.flatMap(({ requests }) => requests)
      .sort((a, b) => b.recordedAt - a.recordedAt)
      .slice(0, limit),
    successes: pages.reduce((sum, { successes }) => sum + successes, 0),
    sampled: pages.reduce((sum, { sampled }) => sum + sampled, 0),
  };
}

/** Returns the report with this `record`, else the newest failure, else the newest, of several workers. */
export function mergeReports(
  reports: readonly (RequestReport | undefined)[],
  id: string,
): RequestReport | undefined {
  const found = reports.filter((report) => report !== undefined)
    .sort((a, b) =>
      Number(b.hasFailed) - Number(a.hasFailed) || b.recordedAt - a.recordedAt
    );
  return found.find(({ record }) => record === id) ?? found[0];
}

function matches(
  request: LoggedRequest,
  { status, route, model, key, mcpServer, mcpTool, text, since = 0 }:
    RequestQuery,
): boolean {
  return request.recordedAt >= since &&
    hasStatus(request, status) &&
    contains(request.route, route) &&
    contains(request.model, model) &&
    contains(request.key, key) &&
    contains(request.mcpServer, mcpServer) &&
    contains(request.mcpTool, mcpTool) &&
    (text === undefined || contains(textOf(request), text));
}

function hasStatus(
  { status, hasFailed }: LoggedRequest,
  wanted: string | undefined,
): boolean {
  switch (wanted) {
    case undefined:
      return true;
    case "failed":
      return hasFailed;
    case "succeeded":
      return !hasFailed;
    default:
      return String(status).startsWith(wanted.slice(0, 1));
  }
}

function textOf(request: LoggedRequest): string {
  const { id, status, reason, method, host, path } = request;
  const { gateway, route, backend, model, key, mcpServer, mcpTool } = request;
  return [
    `${status} ${method} ${host}${path} ${reason} ${id}`,
    gateway,
    route,
    backend,
    model,
    key,
    mcpServer,
    mcpTool,
  ].join("\n");
}

function contains(text: string | null, part: string | undefined): boolean {
  return part === undefined ||
    text?.toLowerCase().includes(part.toLowerCase()) === true;
}
