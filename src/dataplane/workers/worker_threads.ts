import type { CallArguments, CallName, CallPart } from "../calls/calls.ts";
import type { ThreadResult } from "../calls/data_plane_call.ts";
import { decodeShared } from "../state/decode_message.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import { type HeartbeatMemory, HeartbeatMonitor } from "./heartbeat.ts";
import type { WorkerCalls } from "./protocol.ts";
import { WorkerEnded, type WorkerThread } from "./worker_thread.ts";

/** First delay before a replacement that has ended at once is replaced again; it doubles each time. */
const MIN_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;
/** A worker that has run for so long is not one that cannot start. */
const STABLE_MS = 60_000;

/** Dependencies of the worker threads. */
export interface WorkerThreadsOptions {
  readonly count: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly heartbeats: HeartbeatMemory;
  /** Starts a worker. */
  readonly start: (
    worker: number,
    onEnd: (reason: WorkerEnded) => void,
  ) => WorkerThread;
  /** Runs when a worker has ended, before it is replaced. */
  readonly onEnd: (worker: number) => void;
  /** Runs when a worker does not respond. */
  readonly onSilent: (worker: number) => void;
  /** Configures a worker that has missed changes, and calls `serve` when it follows all further ones. */
  readonly configure: (
    thread: WorkerThread,
    serve: () => void,
  ) => Promise<void>;
  /** Runs when a worker does not respond for so long that only the end of the process can help. */
  readonly onLost: () => void;
}

/** The worker threads that serve. A worker that ends is replaced; one that does not respond is left out until it does. */
export class WorkerThreads {
  readonly #options: WorkerThreadsOptions;
  /** By number. */
  readonly #serving = new Map<number, WorkerThread>();
  /** Those that do not respond, by number. */
  readonly #silent = new Map<number, WorkerThread>();
  readonly #running = new Map<number, WorkerThread>();
  readonly #monitor: HeartbeatMonitor;
  /** Consecutive failures by number of the worker. */
  readonly #failures = new Map<number, number>();
  readonly #replacing = new Set<Promise<void>>();
  readonly #cancelTimers = new Set<() => void>();
  #isStopping = false;

  constructor(options: WorkerThreadsOptions) {
    this.#options = options;
    this.#monitor = this.#createMonitor();
    for (let number = 1; number <= options.count; number++) {
      this.#serving.set(number, this.#start(number));
    }
  }

  /** Number of the workers that serve. */
  get serving(): number {
    return this.#serving.size;
  }

  /** Numbers of the workers that do not respond. */
  get silent(): readonly number[] {
    return [...this.#silent.keys()];
  }

  /**
   * Calls all workers that serve; returns the results of those that do not end meanwhile, in the order of their numbers.
   * @throws When a worker reports an error.
   */
  async callAll<Name extends keyof WorkerCalls>(
    name: Name,
    ...args: Parameters<WorkerCalls[Name]>
  ): Promise<ReturnType<WorkerCalls[Name]>[]> {
    return await this.#each((thread) => thread.call(name, ...args));
  }

  /** Runs a call in all workers, or in one; see `callAll`. @throws When none of them responds and one has to. */
  async run<Name extends CallName>(
    name: Name,
    args: CallArguments[Name],
    threads: "all" | "one" = "all",
  ): Promise<ThreadResult<CallPart[Name]>[]> {
    const run = async (thread: WorkerThread) => ({
      worker: thread.number,
      part: decodeShared<CallPart[Name]>(await thread.call("run", name, args)),
    });
    if (threads === "all") return await this.#each(run);
    for (const thread of this.#inOrder()) {
      try {
        return [await run(thread)];
      } catch (error) {
        if (!(error instanceof WorkerEnded)) throw error;
      }
    }
    throw new Error("No worker responds");
  }

  /** Compiles a configuration in all workers. */
  stageAll(
    resources: ResourceSet,
  ): Promise<Awaited<ReturnType<WorkerThread["stage"]>>[]> {
    return this.#each((thread) => thread.stage(resources));
  }

  async #each<Result>(
    run: (thread: WorkerThread) => Promise<Result>,
  ): Promise<Result[]> {
    const settled = await Promise.allSettled(this.#inOrder().map(run));
    return settled.flatMap((each) => {
      if (each.status === "fulfilled") return [each.value];
      if (each.reason instanceof WorkerEnded) return [];
      throw each.reason;
    });
  }

  #inOrder(): WorkerThread[] {
    return [...this.#serving.values()].sort((a, b) => a.number - b.number);
  }

  /** Replaces no worker from now on. */
  async stopReplacing(): Promise<void> {
    this.#isStopping = true;
    for (const cancel of this.#cancelTimers) cancel();
    await Promise.all(this.#replacing);
  }

  /** Ends all workers. */
  async stop(): Promise<void> {
    this.#monitor.close();
    await Promise.all(this.#running.values().map((thread) => thread.stop()));
    this.#serving.clear();
    this.#silent.clear();
    this.#running.clear();
  }

  #createMonitor(): HeartbeatMonitor {
    const { heartbeats, clock, log, onLost } = this.#options;
    return new HeartbeatMonitor(heartbeats, clock, {
      onSilent: (worker, seconds) => this.#leaveOut(worker, seconds),
      onBeat: (worker) => void this.#takeBack(worker),
      onLost: (worker, seconds) => {
        log.error(
          "Worker does not respond, and only the end of the process can end it",
          { worker, seconds },
        );
        onLost();
      },
      onNotStarted: (worker, seconds) =>
        void this.#running.get(worker)?.kill(
          `it did not start within ${seconds} s`,
        ),
    });
  }

  /** Goes on without a worker that does not respond. */
  #leaveOut(number: number, seconds: number): void {
    const thread = this.#running.get(number);
    if (thread === undefined) return;
    this.#options.log.error(
      "Worker does not respond, its connections wait, also new ones",
      { worker: number, seconds },
    );
    this.#serving.delete(number);
    this.#silent.set(number, thread);
    thread.failCalls();
    this.#options.onSilent(number);
  }

  /** Brings a worker that responds again up to date. */
  async #takeBack(number: number): Promise<void> {
    const thread = this.#silent.get(number);
    if (thread === undefined) return;
    this.#silent.delete(number);
    await this.#configure(thread, number, false);
  }

  /** Configures a worker and lets it serve. @param isNew Otherwise, it forgets what it had before. */
  async #configure(
    thread: WorkerThread,
    number: number,
    isNew: boolean,
  ): Promise<void> {
    const { log, configure } = this.#options;
    try {
      if (!isNew) await thread.forget();
      await configure(thread, () => {
        if (!thread.hasEnded) this.#serving.set(number, thread);
      });
    } catch (error) {
      // One that has ended is replaced for that, and one that is silent is configured later.
      if (thread.hasEnded || this.#silent.has(number)) return;
      await thread.kill(`it cannot be configured: ${describeError(error)}`);
      return;
    }
    const message = isNew ? "Worker replaced" : "Worker responds again";
    log.info(message, { worker: number });
  }

  #start(number: number): WorkerThread {
    const { clock, log, start, onEnd } = this.#options;
    const startedAt = clock.monotonic();
    const thread = start(number, (error) => {
      this.#monitor.unwatch(number);
      this.#serving.delete(number);
      this.#silent.delete(number);
      this.#running.delete(number);
      if (clock.monotonic() - startedAt > STABLE_MS) {
        this.#failures.delete(number);
      }
      log.error("Worker ended, its connections are cut", {
        worker: number,
        error,
      });
      onEnd(number);
      this.#replaceLater(number);
    });
    this.#running.set(number, thread);
    this.#monitor.watch(number);
    return thread;
  }

  #replaceLater(number: number): void {
    if (this.#isStopping) return;
    const failures = this.#failures.get(number) ?? 0;
    this.#failures.set(number, failures + 1);
    const delayMs = failures === 0
      ? 0
      : Math.min(MIN_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS);
    const cancel = this.#options.clock.setTimer(() => {
      this.#cancelTimers.delete(cancel);
      const replacing = this.#replace(number);
      this.#replacing.add(replacing);
      void replacing.finally(() => this.#replacing.delete(replacing));
    }, delayMs);
    this.#cancelTimers.add(cancel);
  }

  #replace(number: number): Promise<void> {
    return this.#configure(this.#start(number), number, true);
  }
}
