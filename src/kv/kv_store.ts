import { type Clock, delay } from "../base/clock.ts";
import { closeOnceOpen, type KvHandle, type Replacement } from "./kv_handle.ts";
import { openKv } from "./open_kv.ts";

/** Counts of a store since it was created. */
export interface KvStoreCounters {
  /** Records written. */
  readonly writes: number;
  /** Writes retried because another process wrote first. */
  readonly conflicts: number;
  /** Operations retried because the file was locked. */
  readonly locks: number;
  /** Operations that failed after all retries, and failed attempts to open the store. */
  readonly failures: number;
}

/** Options of a store. */
export interface KvStoreOptions {
  /** File that processes of this machine share, `:memory:`, or URL of a remote store. */
  readonly store: string;
  readonly clock: Clock;
  /** Returns a number from 0 up to 1, for the jitter of retries; default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Opens the store; default `openKv`. */
  readonly open?: ((store: string) => Promise<KvHandle>) | undefined;
  /** Deadline of an operation, including its retries; default 5000. */
  readonly deadlineMs?: number;
  /** Pause before a store that has failed is opened again, doubled with each failure up to a second; default 100. */
  readonly firstReopenMs?: number;
}

const DEADLINE_MS = 5000;
const LONGEST_PAUSE_MS = 50;
const FIRST_REOPEN_MS = 100;
const LONGEST_REOPEN_MS = 1000;

/**
 * Values that are replaced by compare-and-swap. Opens on first use. After a failure the store is closed and reopened after a pause;
 * until then all operations fail immediately with the same error.
 */
export class KvStore {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #openHandle: () => Promise<KvHandle>;
  readonly #deadlineMs: number;
  readonly #firstReopenMs: number;
  readonly #counters = { writes: 0, conflicts: 0, locks: 0, failures: 0 };
  #opening: Promise<KvHandle> | undefined;
  #failure: { readonly error: unknown; readonly retryAt: number } | undefined;
  #reopenMs: number;
  #isClosed = false;

  constructor(options: KvStoreOptions) {
    const { store, clock, random = Math.random, open = openKv } = options;
    this.#clock = clock;
    this.#random = random;
    this.#openHandle = () => open(store);
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    this.#firstReopenMs = options.firstReopenMs ?? FIRST_REOPEN_MS;
    this.#reopenMs = this.#firstReopenMs;
  }

  get counters(): KvStoreCounters {
    return { ...this.#counters };
  }

  /** Error with which operations fail immediately; `undefined` when the store can be tried. */
  get error(): unknown {
    if (this.#isClosed) return new Error("the store is closed");
    const failure = this.#failure;
    return failure === undefined ||
        this.#clock.monotonic() >= failure.retryAt
      ? undefined
      : failure.error;
  }

  /** Last error; `undefined` once the store works again. */
  get lastError(): unknown {
    return this.#failure?.error;
  }

  /** Opens the store before its first use; rejects when it cannot be opened now. */
  async open(): Promise<void> {
    if (this.#isClosed) return;
    this.#opening ??= this.#openHandle();
    await this.#opening;
  }

  /**
   * Reads a value and writes the result of `change`; repeats with the newer value when another process wrote in between. `undefined`
   * writes nothing. Rejects when the store fails; the write may or may not have been done then.
   */
  async update(
    key: Deno.KvKey,
    change: (value: unknown) => Replacement | undefined,
  ): Promise<void> {
    await this.transact(async (kv, isLate) => {
      const { value, version } = await kv.read(key);
      if (isLate()) return "conflict";
      const next = change(value);
      if (next === undefined) return undefined;
      if (!await kv.replace(key, version, next)) return "conflict";
      this.#counters.writes++;
      return undefined;
    });
  }

  /**
   * Returns the result of `attempt`, which is repeated after a pause while it returns `conflict`, because another process wrote in
   * between, or the file is locked. Rejects when the store fails.
   * @param attempt `isLate` says that nobody waits for it any more: it must not write then.
   */
  async transact<T>(
    attempt: (kv: KvHandle, isLate: () => boolean) => Promise<T | "conflict">,
  ): Promise<T> {
    const { error } = this;
    if (error !== undefined) throw error;
    this.#opening ??= this.#open();
    const opening = this.#opening;
    let result: T;
    try {
      result = await this.#withDeadline((isLate) =>
        this.#repeat(opening, isLate, attempt)
      );
    } catch (error) {
      this.#counters.failures++;
      this.#fail(opening, error);
      throw error;
    }
    if (this.#opening === opening) {
      this.#failure = undefined;
      this.#reopenMs = this.#firstReopenMs;
    }
    return result;
  }

  /** Returns the values whose keys begin with `prefix` and a time; rejects when the store fails. */
  async list(prefix: Deno.KvKey): Promise<readonly unknown[]> {
    const { error } = this;
    if (error !== undefined) throw error;
    this.#opening ??= this.#open();
    const opening = this.#opening;
    try {
      return await (await opening).list(prefix, 0);
    } catch (error) {
      this.#counters.failures++;
      this.#fail(opening, error);
      throw error;
    }
  }

  /** Closes the store; operations in progress fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const opening = this.#opening;
    this.#opening = undefined;
    await closeOnceOpen(opening);
  }

  /** Retries while the file is locked: processes that start together set it up at the same time. */
  async #open(): Promise<KvHandle> {
    const giveUpAt = this.#clock.monotonic() + this.#deadlineMs;
    for (let attempts = 1;; attempts++) {
      try {
        return await this.#openHandle();
      } catch (error) {
        const isLate = this.#clock.monotonic() >= giveUpAt;
        if (!isLocked(error) || isLate || this.#isClosed) throw error;
        this.#counters.locks++;
        await this.#pause(attempts);
      }
    }
  }

  async #repeat<T>(
    opening: Promise<KvHandle>,
    isLate: () => boolean,
    attempt: (kv: KvHandle, isLate: () => boolean) => Promise<T | "conflict">,
  ): Promise<T> {
    const kv = await opening;
    for (let attempts = 0;; attempts++) {
      if (attempts > 0) await this.#pause(attempts);
      if (isLate()) throw this.#lateness();
      try {
        const result = await attempt(kv, isLate);
        if (result !== "conflict") return result;
        this.#counters.conflicts++;
      } catch (error) {
        if (!isLocked(error)) throw error;
        this.#counters.locks++;
      }
    }
  }

  /** Waits with exponential back-off and jitter. */
  #pause(attempts: number): Promise<void> {
    const longest = Math.min(LONGEST_PAUSE_MS, 2 ** attempts);
    return delay(this.#clock, this.#random() * longest);
  }

  #withDeadline<T>(
    operation: (isLate: () => boolean) => Promise<T>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let late = false;
      const cancel = this.#clock.setTimer(() => {
        late = true;
        reject(this.#lateness());
      }, this.#deadlineMs);
      operation(() => late).then(resolve, reject).finally(cancel);
    });
  }

  #lateness(): Error {
    return new Error(`no response within ${this.#deadlineMs} ms`);
  }

  #fail(opening: Promise<KvHandle>, error: unknown): void {
    // When a store fails, several operations do: the first one closes it.
    if (this.#opening !== opening) return;
    this.#opening = undefined;
    void closeOnceOpen(opening);
    const pauseMs = this.#reopenMs * (0.5 + this.#random() / 2);
    this.#failure = { error, retryAt: this.#clock.monotonic() + pauseMs };
    this.#reopenMs = Math.min(LONGEST_REOPEN_MS, this.#reopenMs * 2);
  }
}

/** Reports whether SQLite timed out on a file locked by another process; nothing was written then. */
function isLocked(error: unknown): boolean {
  return error instanceof Error &&
    /database (table )?is locked/i.test(error.message);
}
