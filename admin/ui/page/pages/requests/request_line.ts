/** Lines of the log of requests, and everything about one of them. */
import type { TraceEvent } from "../traces/trace_events.ts";

/** A line of the log; times are in milliseconds. */
export interface LoggedRequest {
  readonly record: string;
  readonly id: string;
  readonly time: string;
  readonly recordedAt: number;
  readonly status: number;
  readonly hasFailed: boolean;
  readonly cause: string | null;
  readonly reason: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly route: string | null;
  readonly backend: string | null;
  readonly model: string | null;
  readonly key: string | null;
  readonly durationMs: number | null;
  readonly firstTokenMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
  readonly retries: number;
}

/** An attempt to reach the backend. */
export interface Call {
  readonly endpoint: string | null;
  readonly status: number | null;
  readonly error: string | null;
  readonly startMs: number;
  readonly endMs: number;
}

/** Everything about a request. */
export interface RequestReport extends LoggedRequest {
  readonly failing: { readonly kind: string; readonly name: string } | null;
  readonly advice: string | null;
  readonly routeKey: string | null;
  readonly calls: readonly Call[];
  readonly events: readonly TraceEvent[];
}

/** Names a request; one that was rejected before it was parsed has only an id. */
export function nameOf(
  { id, method, host, path }: Pick<
    LoggedRequest,
    "id" | "method" | "host" | "path"
  >,
): string {
  return `${method} ${host}${path}`.trim() || id;
}

/** News of the log. */
export interface RequestPage {
  readonly takenAt: number;
  readonly requests: readonly LoggedRequest[];
  readonly successes: number;
  readonly sampled: number;
}

/** The log, newest first, and how much of the traffic it has. */
export interface RequestLog {
  readonly requests: readonly LoggedRequest[];
  readonly successes: number;
  readonly sampled: number;
}

/** Older requests leave the tab. */
export const MAX_REQUESTS = 1000;

/** Adds the news of a page; the list stays the same if there are none. */
export function addPage(
  log: RequestLog | undefined,
  { requests, successes, sampled }: RequestPage,
): RequestLog {
  const before = log?.requests ?? [];
  // A restart of the gateway begins again.
  const isRestarted = log !== undefined && successes < log.successes;
  const known = new Set(before.map(({ record }) => record));
  const news = isRestarted
    ? requests
    : requests.filter(({ record }) => !known.has(record));
  if (log !== undefined && news.length === 0) {
    return { requests: before, successes, sampled };
  }
  const all = [...news, ...isRestarted ? [] : before]
    .sort((a, b) => b.recordedAt - a.recordedAt);
  return { requests: all.slice(0, MAX_REQUESTS), successes, sampled };
}
