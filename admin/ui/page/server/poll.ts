import {
  type ReadonlySignal,
  signal,
  useEffect,
  useMemo,
  useState,
} from "../kit/framework.ts";
import {
  ApiError,
  getJson,
  getText,
  messageOf,
  type ResponseOf,
} from "./api.ts";

/** The latest response of an endpoint that is requested repeatedly. */
export interface Polled<T> {
  /** `undefined` until the first response; unchanged responses do not change it. */
  readonly data: ReadonlySignal<T | undefined>;
  /** Reason for which the last request failed; empty if it did not. */
  readonly error: ReadonlySignal<string>;
  /** Requests it now. */
  readonly refresh: () => void;
}

/** Options of `usePolled`. */
export interface PollOptions<T> {
  /** Parses the response; by default, JSON. */
  readonly parse?: (text: string) => T;
}

/**
 * Requests `GET api/path` every `intervalMs` while the component is shown, not concurrently, and not while the page is hidden.
 * A changed path discards the data.
 */
export function usePolled<Path extends string, T = ResponseOf<Path>>(
  path: Path,
  intervalMs: number,
  { parse = JSON.parse }: PollOptions<T> = {},
): Polled<T> {
  const state = useMemo(() => ({
    data: signal<T | undefined>(undefined),
    error: signal(""),
    refresh: () => {},
  }), [path]);
  useEffect(() => {
    const leaving = new AbortController();
    let shown: string | undefined;
    const update = async () => {
      try {
        const text = await getText(path, leaving.signal);
        if (text !== shown) state.data.value = parse(text);
        shown = text;
        state.error.value = "";
      } catch (error) {
        if (!leaving.signal.aborted) state.error.value = messageOf(error);
      }
    };
    state.refresh = () => void update();
    repeat(intervalMs, leaving.signal, update);
    return () => leaving.abort();
  }, [path, intervalMs]);
  return state;
}

/** The response of an endpoint that is requested once. */
export interface Fetched<T> {
  readonly data?: T;
  /** Reason for which the request failed; empty if it did not. */
  readonly problem: string;
  /** The server does not have it any more. */
  readonly isGone: boolean;
}

/** Requests `GET api/path` when the component is shown, and again when `version` changes; the data stays until then. */
export function useFetched<Path extends string>(
  path: Path,
  version = "",
): Fetched<ResponseOf<Path>> {
  const [state, setState] = useState<Fetched<ResponseOf<Path>>>({
    problem: "",
    isGone: false,
  });
  useEffect(() => {
    const leaving = new AbortController();
    getJson(path, leaving.signal).then(
      (data) => setState({ data, problem: "", isGone: false }),
      (error: unknown) => {
        if (leaving.signal.aborted) return;
        const isGone = error instanceof ApiError && error.status === 404;
        setState((old) => ({ ...old, problem: messageOf(error), isGone }));
      },
    );
    return () => leaving.abort();
  }, [path, version]);
  return state;
}

/** Repeats a task until `signal` aborts, not concurrently, and not while the page is hidden. The task handles its errors. */
export async function repeat(
  intervalMs: number,
  signal: AbortSignal,
  task: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    if (!document.hidden) await task();
    await pause(intervalMs, signal);
  }
}

/** Resolves after some time, or when `signal` aborts; leaves nothing behind in the signal. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
