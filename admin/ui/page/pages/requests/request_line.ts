/** The log of requests in this tab. */
import type {
  LoggedRequest,
  RequestPage,
} from "../../../../../src/telemetry/requests/logged_request.ts";

/** Names a request; one that was rejected before it was parsed has only an id. */
export function nameOf(
  { id, method, host, path }: Pick<
    LoggedRequest,
    "id" | "method" | "host" | "path"
  >,
): string {
  return `${method} ${host}${path}`.trim() || id;
}

/** Older requests leave the tab. */
export const MAX_REQUESTS = 1000;

/** Adds the news of a page to the log; the list stays the same if there are none. */
export function addPage(
  log: RequestPage | undefined,
  page: RequestPage,
): RequestPage {
  const { requests, successes } = page;
  const before = log?.requests ?? [];
  // A restart of the gateway begins again.
  const isRestarted = log !== undefined && successes < log.successes;
  const known = new Set(before.map(({ record }) => record));
  const news = isRestarted
    ? requests
    : requests.filter(({ record }) => !known.has(record));
  if (log !== undefined && news.length === 0) {
    return { ...page, requests: before };
  }
  const all = [...news, ...isRestarted ? [] : before]
    .sort((a, b) => b.recordedAt - a.recordedAt);
  return { ...page, requests: all.slice(0, MAX_REQUESTS) };
}
