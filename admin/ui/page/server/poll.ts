import {
  type ReadonlySignal,
  signal,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "../kit/framework.ts";
import {
  ApiError,
  getJson,
  getText,
  messageOf,
  type ResponseOf,
} from "./api.ts";

/** Data that a page requests repeatedly. */
export interface Polled<T> {
  /** `undefined` until the first response; unchanged responses do not change it. */
  readonly data: ReadonlySignal<T | undefined>;
  /** Reason for which the last request failed; empty if it did not. */
  readonly error: ReadonlySignal<string>;
  /** Requests it now. */
  readonly refresh: () => void;
}

/**
 * Updates data every `intervalMs` while the component is shown, not concurrently, and not while the page is hidden.
 * @param key Of what the data depend on: another one discards them.
 * @param update Returns the data that follow those before.
 */
export function useRepeated<T>(
  key: string,
  intervalMs: number,
  update: (signal: AbortSignal, before: T | undefined) => Promise<T>,
): Polled<T> {
  const state = useMemo(() => ({
    data: signal<T | undefined>(undefined),
    error: signal(""),
    refresh: () => {},
  }), [key]);
  useEffect(() => {
    const leaving = new AbortController();
    const run = async () => {
      try {
        state.data.value = await update(leaving.signal, state.data.peek());
        state.error.value = "";
      } catch (error) {
        if (!leaving.signal.aborted) state.error.value = messageOf(error);
      }
    };
    state.refresh = () => void run();
    repeat(intervalMs, leaving.signal, run);
    return () => leaving.abort();
  }, [key, intervalMs]);
  return state;
}

/**
 * Requests `GET api/path` repeatedly, see `useRepeated`.
 * @param parse Parses the response; by default, as JSON.
 */
export function usePolled<Path extends string, T = ResponseOf<Path>>(
  path: Path,
  intervalMs: number,
  parse: (text: string) => T = JSON.parse,
): Polled<T> {
  const shown = useRef("");
  return useRepeated<T>(path, intervalMs, async (signal, before) => {
    const text = await getText(path, signal);
    if (before !== undefined && text === shown.current) return before;
    shown.current = text;
    return parse(text);
  });
}

/** Data that a page requests once. */
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
  return useLoaded(`${path} ${version}`, (signal) => getJson(path, signal));
}

/** Loads data when the component is shown, and again when `key` changes; the data stays until then. */
export function useLoaded<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
): Fetched<T> {
  const [state, setState] = useState<Fetched<T>>({
    problem: "",
    isGone: false,
  });
  useEffect(() => {
    const leaving = new AbortController();
    const show = (change: (old: Fetched<T>) => Fetched<T>) => {
      if (!leaving.signal.aborted) setState(change);
    };
    load(leaving.signal).then(
      (data) => show(() => ({ data, problem: "", isGone: false })),
      (error: unknown) => {
        const isGone = error instanceof ApiError && error.status === 404;
        show((old) => ({ ...old, problem: messageOf(error), isGone }));
      },
    );
    return () => leaving.abort();
  }, [key]);
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
