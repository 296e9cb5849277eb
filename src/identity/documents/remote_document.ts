import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { CachedDocument } from "./document_cache.ts";

/** No version of the document is available. */
export class DocumentUnavailableError extends Error {
  override readonly name = "DocumentUnavailableError";

  constructor(
    message: string,
    /** Seconds until the next attempt to fetch it; at least 1. */
    readonly retryAfter: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The cool-down forbids a fetch, and the current version is too old to tell what the newest one has. */
export class DocumentCoolDownError extends DocumentUnavailableError {}

/** A version of a document. */
export interface DocumentVersion<T> extends CachedDocument {
  readonly value: T;
}

/** Options of a `RemoteDocument`. */
export interface RemoteDocumentOptions<T> {
  readonly clock: Clock;
  /**
   * Fetches the newest version.
   * @param newerThan Set when the version that was fetched then lacks something; milliseconds since the epoch.
   * @throws {DocumentUnavailableError} When another thread has failed to fetch it, and when that tries again.
   */
  fetch(newerThan?: number): Promise<DocumentVersion<T>>;
  /** Loads a stored version; called once, before the first fetch; never rejects. */
  restore?(): Promise<DocumentVersion<T> | undefined>;
  /** Maximum age of a version that is used while fetching fails. */
  readonly maxAgeMs: number;
  /** Minimum time between two fetches requested by `newer`. */
  readonly coolDownMs: number;
  /** @param afterFailure The previous attempt had failed. */
  onFetched?(version: DocumentVersion<T>, afterFailure: boolean): void;
  onFailed?(error: unknown): void;
}

/** State of a document for the admin interface. */
export interface DocumentState {
  /** RFC 3339; `null` when there is no version. */
  readonly fetchedAt: string | null;
  readonly ageSeconds: number | null;
  readonly refreshes: number;
  /** Duration of the fetch in progress; `null` without one. */
  readonly fetchingMs: number | null;
  readonly failures: number;
  /** Error of the last attempt; `null` if it succeeded. */
  readonly lastError: string | null;
  /** Earliest time of the next attempt, RFC 3339; `null` if the last attempt succeeded. */
  readonly retryAt: string | null;
  /** Time from which the next use fetches again, RFC 3339; `null` before the first fetch and for versions that stay fresh. */
  readonly refreshAt: string | null;
}

const FIRST_BACK_OFF_MS = 1000;
const MAX_BACK_OFF_MS = 60_000;

/**
 * A document that is fetched on demand and cached. There is one fetch at a time; while fetching fails, an old version is used;
 * the back-off after failures grows from 1 s to 60 s.
 */
export class RemoteDocument<T> {
  readonly #options: RemoteDocumentOptions<T>;
  #current: DocumentVersion<T> | undefined;
  #restoring: Promise<void> | undefined;
  #fetching: Promise<void> | undefined;
  #fetchingSince = 0;
  #retryAt = 0;
  #lastDemandAt = -Infinity;
  #failuresInRow = 0;
  #refreshes = 0;
  #failures = 0;
  #lastError: unknown;

  constructor(options: RemoteDocumentOptions<T>) {
    this.#options = options;
  }

  /** Returns the version to use, without a promise when it is cached. @throws {DocumentUnavailableError} Also as a rejection. */
  get(): T | Promise<T> {
    const current = this.#current;
    if (current === undefined) return this.#first();
    const age = this.#now() - current.fetchedAt;
    if (age >= 0 && age < current.freshMs) return current.value;
    // A document that was unused for long may be outdated: the first caller awaits a fetch, unless one failed recently.
    const isRecent = age < 2 * current.freshMs ||
      this.#now() < this.#retryAt + MAX_BACK_OFF_MS;
    return isRecent && age < this.#options.maxAgeMs
      ? this.#whileRefreshing(current.value)
      : this.#afterRefresh();
  }

  /** The newest cached version, regardless of its age. */
  get current(): T | undefined {
    return this.#current?.value;
  }

  /**
   * Fetches a newer version because `than` lacks something; returns `than` when there is none.
   * @param since Within the cool-down, a version that was fetched later than this counts as the newest; milliseconds since the epoch.
   * @throws {DocumentCoolDownError} When the cool-down forbids a fetch, and no version was fetched since then.
   * @throws {DocumentUnavailableError} When the last fetch failed, so that the existence of a newer version is unknown.
   */
  async newer(than: T, since = -Infinity): Promise<T> {
    const calledAt = this.#now();
    // A fetch in progress may have begun before the newer version existed.
    await this.#fetching;
    const { value = than } = this.#current ?? {};
    if (value !== than) return value;
    const nextAt = () =>
      Math.max(this.#lastDemandAt + this.#options.coolDownMs, this.#retryAt);
    if (this.#fetching !== undefined || this.#now() >= nextAt()) {
      this.#lastDemandAt = this.#now();
      await this.#refresh(this.#current?.fetchedAt);
    }
    if (this.#lastError !== undefined) throw this.#unavailable(nextAt());
    const { fetchedAt = -Infinity } = this.#current ?? {};
    if (fetchedAt < Math.min(since, calledAt)) {
      throw this.#coolingDown(fetchedAt, nextAt());
    }
    return this.current ?? than;
  }

  /** Fetches now, whatever the age of the current version, the back-off and the cool-down; never rejects. */
  async refetch(): Promise<void> {
    await this.#fetching;
    await this.#refresh();
  }

  /** Returns the current version, whatever its age, for a copy of this document in another thread. */
  async latest(): Promise<DocumentVersion<T> | undefined> {
    if (this.#current === undefined) {
      await (this.#restoring ??= this.#restore());
    }
    return this.#current;
  }

  /**
   * Returns a fresh version, for a copy of this document in another thread.
   * @param newerThan Time of the fetch of the copy, if it lacks something; milliseconds since the epoch. The cool-down applies.
   * @throws {DocumentUnavailableError} When the last fetch failed.
   */
  async fresh(newerThan = -Infinity): Promise<DocumentVersion<T>> {
    const known = await this.latest();
    if (known !== undefined && known.fetchedAt <= newerThan) {
      await this.newer(known.value);
    } else if (
      known === undefined || this.#now() - known.fetchedAt >= known.freshMs
    ) {
      await this.#afterRefresh();
    } else {
      return known;
    }
    const current = this.#current;
    if (current === undefined || this.#lastError !== undefined) {
      throw this.#unavailable(this.#retryAt);
    }
    return current;
  }

  describe(): DocumentState {
    const fetchedAt = this.#current?.fetchedAt;
    const error = this.#lastError;
    return {
      fetchedAt: toText(fetchedAt),
      ageSeconds: fetchedAt === undefined
        ? null
        : Math.round((this.#now() - fetchedAt) / 1000),
      refreshes: this.#refreshes,
      fetchingMs: this.#fetching === undefined
        ? null
        : this.#now() - this.#fetchingSince,
      failures: this.#failures,
      lastError: error === undefined ? null : describeError(error),
      retryAt: toText(error === undefined ? undefined : this.#retryAt),
      refreshAt: toText(this.#refreshAt()),
    };
  }

  #refreshAt(): number | undefined {
    const current = this.#current;
    const staleAt = current && current.fetchedAt + current.freshMs;
    return this.#lastError === undefined
      ? staleAt
      : Math.max(staleAt ?? 0, this.#retryAt);
  }

  async #first(): Promise<T> {
    return await this.latest() === undefined
      ? this.#afterRefresh()
      : this.get();
  }

  async #restore(): Promise<void> {
    const version = await this.#options.restore?.();
    if (version !== undefined && this.#isUsable(version)) {
      this.#current ??= version;
    }
  }

  #whileRefreshing(value: T): T {
    if (this.#now() >= this.#retryAt) void this.#refresh();
    return value;
  }

  async #afterRefresh(): Promise<T> {
    if (this.#now() >= this.#retryAt || this.#fetching !== undefined) {
      await this.#refresh();
    }
    const current = this.#current;
    if (current !== undefined && this.#isUsable(current)) return current.value;
    throw this.#unavailable(this.#retryAt);
  }

  /** @param nextAt Time of the next attempt, in milliseconds since the epoch. */
  #unavailable(nextAt: number): DocumentUnavailableError {
    return new DocumentUnavailableError(
      "document is not available",
      this.#secondsUntil(nextAt),
      { cause: this.#lastError },
    );
  }

  #coolingDown(fetchedAt: number, nextAt: number): DocumentCoolDownError {
    const age = Math.round((this.#now() - fetchedAt) / 1000);
    const seconds = this.#secondsUntil(nextAt);
    return new DocumentCoolDownError(
      `fetched ${age} s ago, and again in ${seconds} s`,
      seconds,
    );
  }

  #secondsUntil(time: number): number {
    return Math.max(1, Math.ceil((time - this.#now()) / 1000));
  }

  #isUsable({ fetchedAt }: DocumentVersion<T>): boolean {
    return this.#now() - fetchedAt < this.#options.maxAgeMs;
  }

  #refresh(newerThan?: number): Promise<void> {
    this.#fetching ??= this.#fetch(newerThan).finally(() =>
      this.#fetching = undefined
    );
    return this.#fetching;
  }

  async #fetch(newerThan: number | undefined): Promise<void> {
    this.#refreshes++;
    this.#fetchingSince = this.#now();
    try {
      const version = await this.#options.fetch(newerThan);
      const afterFailure = this.#failuresInRow > 0;
      this.#current = version;
      this.#lastError = undefined;
      this.#failuresInRow = this.#retryAt = 0;
      // Another thread may have fetched it earlier: the cool-down has begun then.
      this.#lastDemandAt = Math.min(this.#lastDemandAt, version.fetchedAt);
      this.#options.onFetched?.(version, afterFailure);
    } catch (error) {
      this.#failures++;
      this.#failuresInRow++;
      this.#lastError = error;
      this.#retryAt = this.#now() + this.#backOffMs(error);
      this.#options.onFailed?.(error);
    }
  }

  #backOffMs(error: unknown): number {
    if (!(error instanceof DocumentUnavailableError)) {
      const delay = FIRST_BACK_OFF_MS * 2 ** (this.#failuresInRow - 1);
      return Math.min(delay, MAX_BACK_OFF_MS);
    }
    // The cool-down of the other thread is part of its delay.
    this.#lastDemandAt = -Infinity;
    return error.retryAfter * 1000;
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

function toText(time: number | undefined): string | null {
  return time === undefined || !Number.isFinite(time)
    ? null
    : new Date(time).toISOString();
}
