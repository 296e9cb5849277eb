import { type Clock, pause } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { isJsonObject, parseJson } from "../../base/json.ts";
import { invalid, readLines, readList, readStatus } from "./api_responses.ts";
import { ApiError, type KubernetesApi } from "./kubernetes_api.ts";
import {
  isKubernetesObject,
  isSameVersion,
  type KubernetesObject,
  objectKey,
  withoutManagedFields,
} from "./kubernetes_object.ts";

/** Dependencies of an informer. */
export interface InformerOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly random: () => number;
  /** Path of the collection: `/apis/gateway.networking.k8s.io/v1/httproutes`. */
  readonly path: string;
  /** Limits the collection: `type=kubernetes.io/tls`. */
  readonly fieldSelector?: string;
  /** Limits the collection: `app=gateway`. */
  readonly labelSelector?: string;
  /** Reduces an object to what is kept in memory. Default: drops `managedFields`. */
  readonly reduce?: (object: KubernetesObject) => KubernetesObject;
  /** Called for each object that came, changed, or went (`now` is `undefined`), and after `items` has it. */
  readonly onChange?: (
    now: KubernetesObject | undefined,
    before: KubernetesObject | undefined,
  ) => void;
  /** Called after each list, complete or the same as before. */
  readonly onSync?: () => void;
  /** Reports, after a 404, whether the API server lacks the kind; throws when it cannot be read otherwise. */
  readonly isMissing?: () => Promise<boolean>;
  /** Called when listing or watching fails, and with `undefined` when it works again. */
  readonly onError?: (error: Error | undefined) => void;
}

/** Objects per page of a list: about 1 MB of routes, which parse in some milliseconds. */
const PAGE_SIZE = 200;
/** A watch ends by itself after this time and half of it more at most, so that a dead connection is noticed. */
const WATCH_SECONDS = 60;
/** Grace beyond the end of a watch that the server should have ended. */
const WATCH_GRACE_SECONDS = 10;
const MIN_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;
/** An API server that is back has some kinds later than others: for this time, none is waited for longer than a second. */
const RETURN_MS = 30_000;
const RETURN_BACKOFF_MS = 1_000;
const TOO_MANY_REQUESTS = 429;

/**
 * Keeps a copy of a collection: lists it, watches it, and lists again when the server has forgotten the version (410).
 *
 * The copy stays as it is while the API server is away.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
export class Informer {
  readonly #options: InformerOptions;
  readonly #items = new Map<string, KubernetesObject>();
  /** Version to watch from; empty before the first list and after 410. */
  #version = "";
  #hasSynced = false;
  #failures = 0;
  /** Until then, pauses are short. */
  #returnsUntil = -Infinity;
  /** Ends the pause after a failure. */
  #retry = new AbortController();
  /** Begins each query. */
  readonly #selection: string;

  constructor(options: InformerOptions) {
    this.#options = options;
    const { fieldSelector, labelSelector } = options;
    this.#selection = Object.entries({ fieldSelector, labelSelector }).map((
      [name, value],
    ) => value === undefined ? "" : `${name}=${encodeURIComponent(value)}&`)
      .join("");
  }

  get items(): ReadonlyMap<string, KubernetesObject> {
    return this.#items;
  }

  /** True once the collection has been listed. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Follows the collection until `signal` aborts; failures are reported to `onError` and attempted again. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#version === "") await this.#list(signal);
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, signal);
      }
    }
  }

  /** Ends a pause after a failure: the API server is back. */
  retryNow(): void {
    this.#returnsUntil = this.#options.clock.monotonic() + RETURN_MS;
    this.#retry.abort();
    this.#retry = new AbortController();
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (error instanceof ApiError && error.code === 410 && this.#hasSynced) {
      // Too old to continue: list again. A list that is too old itself, while paging, waits.
      const wasListing = this.#version === "";
      this.#version = "";
      if (!wasListing) return;
    }
    this.#failures++;
    const problem = await this.#problemOf(error);
    if (problem === undefined) {
      // A kind that does not exist has no objects.
      this.#hasSynced = true;
      this.#options.onSync?.();
    } else this.#options.onError?.(problem);
    await this.#pause(error, signal);
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const { code, retryAfter = 0 } = error instanceof ApiError
      ? error
      : { code: 0 };
    const isReturning = clock.monotonic() < this.#returnsUntil;
    const longest = isReturning ? RETURN_BACKOFF_MS : MAX_BACKOFF_MS;
    const backoff = Math.min(
      longest,
      MIN_BACKOFF_MS * 2 ** Math.min(this.#failures - 1, 10),
    ) * (0.5 + random() / 2);
    // A server that has too much to do gets the pause that it asks for; one that starts asks for five seconds.
    const askedMs = retryAfter * 1000;
    const isBusy = code === TOO_MANY_REQUESTS;
    await pause(
      clock,
      Math.max(backoff, isBusy ? askedMs : Math.min(askedMs, longest)),
      isBusy ? signal : AbortSignal.any([signal, this.#retry.signal]),
    );
  }

  /** Returns what keeps the collection from being read; `undefined` when the API server does not have its kind. */
  async #problemOf(error: unknown): Promise<Error | undefined> {
    try {
      const isAbsent = error instanceof ApiError && error.code === 404 &&
        await this.#options.isMissing?.() === true;
      if (isAbsent) return undefined;
    } catch (problem) {
      return asError(problem);
    }
    return asError(error);
  }

  #succeeded(): void {
    if (this.#failures > 0) this.#options.onError?.(undefined);
    this.#failures = 0;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { api, path } = this.#options;
    const found = new Map<string, KubernetesObject>();
    let next = "";
    let version = "";
    do {
      const page = await api.request({
        path: `${path}?${this.#selection}limit=${PAGE_SIZE}${
          next === "" ? "" : `&continue=${encodeURIComponent(next)}`
        }`,
        signal,
      });
      const list = readList(page);
      for (const item of list.items) {
        found.set(objectKey(item), this.#reduce(item));
      }
      next = list.next;
      version = list.version;
    } while (next !== "");
    this.#replace(found);
    this.#version = version;
    this.#hasSynced = true;
    this.#succeeded();
    this.#options.onSync?.();
  }

  #replace(found: ReadonlyMap<string, KubernetesObject>): void {
    for (const [key, before] of [...this.#items]) {
      if (!found.has(key)) this.#set(key, undefined, before);
    }
    for (const [key, now] of found) {
      const before = this.#items.get(key);
      if (before === undefined || !isSameVersion(before, now)) {
        this.#set(key, now, before);
      }
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { api, clock, path, random } = this.#options;
    const seconds = Math.round(WATCH_SECONDS * (1 + random() / 2));
    const dead = new AbortController();
    const stop = () => dead.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const cancelTimer = clock.setTimer(() => {
      dead.abort(new Error("The API server did not end a watch in time"));
    }, (seconds + WATCH_GRACE_SECONDS) * 1000);
    try {
      const response = await api.open({
        path:
          `${path}?${this.#selection}watch=1&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${
            encodeURIComponent(this.#version)
          }`,
        signal: dead.signal,
      });
      this.#succeeded();
      for await (const line of readLines(response)) this.#onEvent(line);
    } finally {
      cancelTimer();
      signal.removeEventListener("abort", stop);
    }
  }

  #onEvent(line: string): void {
    const event = parseJson(line);
    if (!isJsonObject(event)) throw invalid("a watch event");
    const { type, object } = event;
    if (type === "ERROR") throw readStatus(object);
    if (!isKubernetesObject(object)) throw invalid("an object of a watch");
    this.#version = object.metadata.resourceVersion ?? this.#version;
    if (type === "BOOKMARK") return;
    const key = objectKey(object);
    const now = type === "DELETED" ? undefined : this.#reduce(object);
    this.#set(key, now, this.#items.get(key));
  }

  #set(
    key: string,
    now: KubernetesObject | undefined,
    before: KubernetesObject | undefined,
  ): void {
    if (now === undefined) this.#items.delete(key);
    else this.#items.set(key, now);
    this.#options.onChange?.(now, before);
  }

  #reduce(object: KubernetesObject): KubernetesObject {
    return (this.#options.reduce ?? withoutManagedFields)(object);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(describeError(error));
}
