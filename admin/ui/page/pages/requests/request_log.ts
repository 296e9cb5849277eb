/** The log of requests in this tab: what the gateway has, kept up to date. */
import {
  type ReadonlySignal,
  signal,
  useEffect,
  useMemo,
} from "../../kit/framework.ts";
import { getJson, messageOf } from "../../server/api.ts";
import { repeat } from "../../server/poll.ts";
import { addPage, MAX_REQUESTS, type RequestLog } from "./request_line.ts";

const INTERVAL_MS = 1000;

/** Keeps the log of the requests that `query` selects up to date. */
export function useRequestLog(query: string): {
  readonly log: ReadonlySignal<RequestLog | undefined>;
  readonly error: ReadonlySignal<string>;
} {
  const state = useMemo(() => ({
    log: signal<RequestLog | undefined>(undefined),
    error: signal(""),
  }), [query]);
  useEffect(() => {
    const leaving = new AbortController();
    let since = 0;
    repeat(INTERVAL_MS, leaving.signal, async () => {
      const path =
        `requests?${query}&limit=${MAX_REQUESTS}&since=${since}` as const;
      try {
        const page = await getJson(path, leaving.signal);
        since = page.takenAt;
        state.log.value = addPage(state.log.value, page);
        state.error.value = "";
      } catch (error) {
        if (!leaving.signal.aborted) state.error.value = messageOf(error);
      }
    });
    return () => leaving.abort();
  }, [query]);
  return state;
}
