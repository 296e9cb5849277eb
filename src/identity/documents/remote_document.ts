import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";

/** A document that is not there and cannot be had now. */
export class DocumentUnavailableError extends Error {
  override readonly name = "DocumentUnavailableError";

  constructor(
    message: string,
    /** Seconds after which it is worth asking again; at least 1. */
    readonly retryAfter: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A version of a document. */
export interface DocumentVersion<T> {
  readonly value: T;
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number;
  /** How long it is not asked for again. */
  readonly freshMs: number;
}

/** How a document is fetched and kept. */
export interface RemoteDocumentOptions<T> {
  readonly clock: Clock;
  /** The newest version; rejects when it cannot be had. */
  fetch(): Promise<DocumentVersion<T>>;
  /** A version that was kept elsewhere, asked for once, before the first fetch; never rejects. */
  restore?(): Promise<DocumentVersion<T> | undefined>;
  /** For how long an old version serves while there is no newer one. */
  readonly maxAgeMs: number;
  /** Least time between two fetches that `newer` asks for. */
  readonly coolDownMs: number;
  /** @param afterFailure Whether the last attempt had failed. */
  onFetched?(version: DocumentVersion<T>, afterFailure: boolean): void;
  onFailed?(error: unknown): void;
}

/** State of a document, for people. */
export interface DocumentState {
  /** RFC 3339; `null` when there is no version. */
  readonly fetchedAt: string | null;
  readonly ageSeconds: number | null;
  readonly refreshes: number;
  /** For how long it is being fetched; `null` when it is not. */
  readonly fetchingMs: number | null;
  readonly failures: number;
  /** Of the last attempt, if it failed. */
  readonly lastError: string | null;
  /** RFC 3339; before then it is not asked for again. `null` when the last attempt was good. */
  readonly retryAt: string | null;
}

const FIRST_BACK_OFF_MS = 1000;
const MAX_BACK_OFF_MS = 60_000;

/**
 * A document that is fetched when it is needed and kept: one fetch at a time, an old version while there is no newer one,
 * and a pause that grows from 1 s to 60 s after each failure.
 */
export class RemoteDocument<T> {
  readonly #options: RemoteDocumentOptions<T>;
  #current: DocumentVersion<T> | undefined;
  #restoring: Promise<void> | undefined;
  #fetching: Promise<void> | undefined;
  #fetchingSince = 0;
  #retryAt = 0;
  #lastAskedAt = -Infinity;
  #failuresInRow = 0;
  #refreshes = 0;
  #failures = 0;
  #lastError: unknown;

  constructor(options: RemoteDocumentOptions<T>) {
    this.#options = options;
  }

  /** The version to use; without a promise when it is at hand. @throws {DocumentUnavailableError} Also as a rejection. */
  get(): T | Promise<T> {
    const current = this.#current;
    if (current === undefined) return this.#first();
    const age = this.#now() - current.fetchedAt;
    if (age >= 0 && age < current.freshMs) return current.value;
    // What nobody used for long may be far behind: whoever comes first waits for a newer one, unless it was tried just now.
    const isRecent = age < 2 * current.freshMs ||
      this.#now() < this.#retryAt + MAX_BACK_OFF_MS;
    return isRecent && age < this.#options.maxAgeMs
      ? this.#whileRefreshing(current.value)
      : this.#afterRefresh();
  }

  /** The last version that was read, however old. */
  get current(): T | undefined {
    return this.#current?.value;
  }

  /**
   * A version fetched now, because `than` lacks something; `than` itself when there is none, or it was asked too soon.
   * @throws {DocumentUnavailableError} When the last fetch failed, so that nobody knows whether there is one.
   */
  async newer(than: T): Promise<T> {
    const current = this.current ?? than;
    if (current !== than) return current;
    const now = this.#now();
    const nextAt = () =>
      Math.max(this.#lastAskedAt + this.#options.coolDownMs, this.#retryAt);
    if (this.#fetching !== undefined || now >= nextAt()) {
      this.#lastAskedAt = now;
      await this.#refresh();
    }
    if (this.#lastError !== undefined) throw this.#unavailable(nextAt());
    return this.current ?? than;
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
    };
  }

  async #first(): Promise<T> {
    this.#restoring ??= this.#restore();
    await this.#restoring;
    return this.#current === undefined ? this.#afterRefresh() : this.get();
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

  /** @param nextAt When it is asked for again, in milliseconds since the epoch. */
  #unavailable(nextAt: number): DocumentUnavailableError {
    const waitMs = nextAt - this.#now();
    return new DocumentUnavailableError(
      "Cannot get document",
      Math.max(1, Math.ceil(waitMs / 1000)),
      { cause: this.#lastError },
    );
  }

  #isUsable({ fetchedAt }: DocumentVersion<T>): boolean {
    return this.#now() - fetchedAt < this.#options.maxAgeMs;
  }

  #refresh(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => this.#fetching = undefined);
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    this.#refreshes++;
    this.#fetchingSince = this.#now();
    try {
      const version = await this.#options.fetch();
      const afterFailure = this.#failuresInRow > 0;
      this.#current = version;
      this.#lastError = undefined;
      this.#failuresInRow = this.#retryAt = 0;
      this.#options.onFetched?.(version, afterFailure);
    } catch (error) {
      this.#failures++;
      this.#lastError = error;
      const backOff = FIRST_BACK_OFF_MS * 2 ** this.#failuresInRow++;
      this.#retryAt = this.#now() + Math.min(backOff, MAX_BACK_OFF_MS);
      this.#options.onFailed?.(error);
    }
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

function toText(time: number | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString();
}
