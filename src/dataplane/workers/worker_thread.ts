import { Worker } from "node:worker_threads";
import {
  emptyResourceSet,
  type ResourceSet,
} from "../../api/resources/resource_set.ts";
import { describeError } from "../../base/errors.ts";
import { type CallHandlers, Channel } from "../state/channel.ts";
import { diffFields, patchFields } from "./fields_change.ts";
import {
  type ControlCalls,
  emptyReport,
  type StageReport,
  type StageResult,
  type WorkerCalls,
  type WorkerStart,
} from "./protocol.ts";

/** Dependencies of a worker thread. */
export interface WorkerThreadOptions {
  /** The module that calls `runWorker`. */
  readonly entry: URL;
  readonly start: WorkerStart;
  /** Limit of its heap; beyond it, the worker ends, and not the process. */
  readonly heapMegabytes: number;
  readonly handlers: Omit<CallHandlers<ControlCalls>, "ready">;
  /** Runs when the worker has ended without `stop`. */
  readonly onEnd: (reason: WorkerEnded) => void;
  /** Runs when the worker has ended. */
  readonly onExit: () => void;
}

/** A worker has ended or does not respond: calls to it fail with this error. */
export class WorkerEnded extends Error {
  override readonly name = "WorkerEnded";
}

/** A worker as the control thread sees it. */
export class WorkerThread {
  /** From 1. */
  readonly number: number;
  readonly #worker: Worker;
  readonly #channel: Channel<WorkerCalls, ControlCalls>;
  readonly #ready = Promise.withResolvers<void>();
  /** The last configuration that was sent, and the report on the last one that was compiled. */
  #staged = emptyResourceSet;
  #report = emptyReport;
  #isStopping = false;
  #hasEnded = false;
  #reason = "it stopped";

  constructor(
    { entry, start, heapMegabytes, handlers, onEnd, onExit }:
      WorkerThreadOptions,
  ) {
    this.number = start.worker;
    this.#worker = new Worker(entry, {
      workerData: start,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
    });
    this.#channel = new Channel(this.#worker);
    this.#channel.serve({ ...handlers, ready: this.#ready.resolve });
    this.#worker.on("error", (error) => this.#reason = describeError(error));
    this.#worker.on("exit", () => {
      this.#hasEnded = true;
      const ended = new WorkerEnded(
        `Worker ${this.number} ended: ${this.#reason}`,
      );
      this.#channel.close(ended);
      this.#ready.resolve();
      onExit();
      if (!this.#isStopping) onEnd(ended);
    });
  }

  /** Compiles a configuration; sends only what differs from the last one. */
  async stage(
    resources: ResourceSet,
  ): Promise<Omit<StageResult, "report"> & { readonly report: StageReport }> {
    const change = diffFields(this.#staged, resources);
    this.#staged = resources;
    const result = await this.call("stage", change);
    this.#report = patchFields(this.#report, result.report);
    return { ...result, report: this.#report };
  }

  /** Prepares a worker that has missed calls for a configuration. */
  async forget(): Promise<void> {
    this.#staged = emptyResourceSet;
    this.#report = emptyReport;
    await this.call("forget");
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Calls the worker; see `WorkerCalls`. @throws {WorkerEnded} */
  async call<Name extends keyof WorkerCalls>(
    name: Name,
    ...args: Parameters<WorkerCalls[Name]>
  ): Promise<ReturnType<WorkerCalls[Name]>> {
    await this.#ready.promise;
    return await this.#channel.call(name, ...args);
  }

  /** Fails the calls under way, because the worker does not respond; it may do so later. */
  failCalls(): void {
    this.#channel.fail(
      new WorkerEnded(`Worker ${this.number} does not respond`),
    );
  }

  /** Ends the thread, which counts as a failure. A thread that is busy goes on until it returns to its event loop. */
  async kill(reason: string): Promise<void> {
    this.#reason = reason;
    await this.#worker.terminate();
  }

  /** Ends the thread and closes its connections. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#worker.terminate();
  }
}
