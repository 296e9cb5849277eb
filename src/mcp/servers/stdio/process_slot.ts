import {
  type Cancellation,
  unlessCancelled,
} from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import type { ServerConnection } from "../server_connection.ts";
import type { ServerProcess } from "./server_process.ts";

/** A process, and the conversation with it. */
export interface LiveServer {
  readonly process: ServerProcess;
  readonly connection: ServerConnection;
}

/** Dependencies of a slot. */
export interface SlotOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  /** Starts a process. @throws {ServerFailure} */
  start(): Promise<LiveServer>;
  /** Called when nobody needs the slot any more. */
  onUnused(): void;
}

/**
 * Pauses after processes in a row that have ended by themselves or could not be started; short ones, for the server is to be back
 * within 5 s. After the first one that has started well, there is none.
 */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 4000;
/** A process that has run so long has started well. */
const STABLE_MS = 10_000;

/** The process of one user, or of all: started for a request, stopped when there is none for a while. */
export class ProcessSlot {
  /** Monotonic time of the last request. */
  usedAt: number;
  readonly #options: SlotOptions;
  readonly #waiting = new Set<(live: LiveServer) => void>();
  #live: Promise<LiveServer> | undefined;
  #requests = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #pause: { readonly until: number; readonly failure: unknown } | undefined;
  #watchers = 0;
  #stopTimer: (() => void) | undefined;
  #isRetired = false;
  #isStopping = false;
  #isClosed = false;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.usedAt = options.clock.monotonic();
    this.#waitForUse();
  }

  /** True while there is a process that goes on, or one is being started. */
  get isRunning(): boolean {
    return this.#live !== undefined && !this.#isStopping;
  }

  /** True while no request is under way. */
  get isIdle(): boolean {
    return this.#requests === 0;
  }

  /** Sends requests to the process; starts it if it does not run. @throws {ServerFailure} */
  async use<T>(work: (live: LiveServer) => Promise<T>): Promise<T> {
    this.#requests++;
    this.#stopTimer?.();
    try {
      return await work(await this.#get());
    } finally {
      this.#requests--;
      this.usedAt = this.#options.clock.monotonic();
      this.#waitForUse();
    }
  }

  /** Runs `work` with each process of the slot that there is, until `cancellation`; starts none. */
  async follow(
    cancellation: Cancellation,
    work: (live: LiveServer) => Promise<void>,
  ): Promise<void> {
    this.#watchers++;
    try {
      while (!cancellation.cancelled) {
        const live = await this.#nextLive(cancellation);
        await work(live);
        await unlessCancelled(live.process.ended, cancellation);
      }
    } catch (error) {
      if (!cancellation.cancelled) throw error;
    } finally {
      this.#watchers--;
      this.#waitForUse();
    }
  }

  /** Ends the process when no request is under way any more, and starts no other. */
  retire(): void {
    this.#isRetired = true;
    this.#waitForUse();
  }

  /** Ends the process, and starts no other. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.stop();
  }

  /** Ends the process. */
  async stop(): Promise<void> {
    this.#stopTimer?.();
    this.#isStopping = true;
    try {
      const live = await this.#live?.catch(() => undefined);
      await live?.process.stop();
    } finally {
      this.#isStopping = false;
    }
  }

  async #get(): Promise<LiveServer> {
    const live = await this.#live?.catch(() => undefined);
    if (live !== undefined && !live.process.router.isOver) return live;
    await live?.process.ended;
    return await (this.#live ?? this.#start());
  }

  #start(): Promise<LiveServer> {
    const { clock, start } = this.#options;
    const pause = this.#pause;
    if (pause !== undefined && clock.monotonic() < pause.until) {
      return Promise.reject(pause.failure);
    }
    const starting = start();
    this.#live = starting;
    starting.then(
      (live) => this.#started(live, clock.monotonic()),
      (failure) => this.#ended(failure, this.#pauseMs),
    );
    return starting;
  }

  #started(live: LiveServer, at: number): void {
    const { process } = live;
    for (const resolve of this.#waiting) resolve(live);
    this.#waiting.clear();
    void process.ended.then(() => {
      const age = this.#options.clock.monotonic() - at;
      if (age > STABLE_MS) this.#pauseMs = FIRST_PAUSE_MS;
      this.#ended(
        process.isStopping ? undefined : process.failure,
        this.#pauseMs === FIRST_PAUSE_MS ? 0 : this.#pauseMs,
      );
    });
  }

  /** @param failure `undefined` if the gateway has ended the process. */
  #ended(failure: unknown, pauseMs: number): void {
    this.#live = undefined;
    this.#pause = failure === undefined ? undefined : {
      until: this.#options.clock.monotonic() + pauseMs,
      failure,
    };
    if (failure === undefined) this.#pauseMs = FIRST_PAUSE_MS;
    else this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
    this.#waitForUse();
  }

  async #nextLive(cancellation: Cancellation): Promise<LiveServer> {
    const live = await this.#live?.catch(() => undefined);
    if (live !== undefined) return live;
    const { promise, resolve } = Promise.withResolvers<LiveServer>();
    this.#waiting.add(resolve);
    try {
      return await unlessCancelled(promise, cancellation);
    } finally {
      this.#waiting.delete(resolve);
    }
  }

  #waitForUse(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#requests > 0 || this.#isClosed) return;
    const { clock, idleMs } = this.#options;
    this.#stopTimer = clock.setTimer(
      () => void this.#endUnused(),
      this.#isRetired ? 0 : idleMs,
    );
  }

  async #endUnused(): Promise<void> {
    await this.stop();
    const isUnused = this.#live === undefined && this.#requests === 0 &&
      this.#watchers === 0;
    if (!isUnused) return;
    // The end of the process has set it again.
    this.#stopTimer?.();
    this.#options.onUnused();
  }
}
