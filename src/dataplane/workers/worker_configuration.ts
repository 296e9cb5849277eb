import type { ServiceSlices } from "../../api/resources/cluster_kinds.ts";
import {
  emptyResourceSet,
  type ResourceSet,
} from "../../api/resources/resource_set.ts";
import type { PlannedPort } from "../../proxy/ports/listeners.ts";
import { claimPort } from "../../proxy/ports/open_port.ts";
import { type PortObserver, replayPorts } from "../../proxy/ports/port_log.ts";
import type { ApplyResult, OpenFailure } from "../apply_result.ts";
import { describeOpenError } from "../local_data_plane.ts";
import type { WorkerThread } from "./worker_thread.ts";
import type { WorkerThreads } from "./worker_threads.ts";

/** Dependencies of the configuration of workers. */
export interface WorkerConfigurationOptions {
  readonly threads: () => WorkerThreads;
  readonly portObserver: PortObserver;
  /** Other processes share the ports as well. */
  readonly reusePort: boolean;
}

/**
 * Applies a configuration to all workers or to none: all have compiled it and opened its ports before one serves it.
 */
export class WorkerConfiguration {
  readonly #options: WorkerConfigurationOptions;
  #resources = emptyResourceSet;
  /** Endpoints that have changed since the configuration came into force. */
  #endpoints: ServiceSlices = new Map();
  /** Port numbers that are open, by key. */
  #claimed: ReadonlyMap<string, number> = new Map();
  /** Serializes changes. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(options: WorkerConfigurationOptions) {
    this.#options = options;
  }

  apply(resources: ResourceSet): Promise<ApplyResult> {
    return this.#serialize(() => this.#apply(resources));
  }

  setEndpoints(changed: ServiceSlices): Promise<void> {
    return this.#serialize(async () => {
      this.#endpoints = new Map([...this.#endpoints, ...changed]);
      await this.#options.threads().callAll("setEndpoints", changed);
    });
  }

  /**
   * Brings a replacement to the configuration in force, and calls `serve` before it can change.
   * @throws When that is not possible.
   */
  configure(thread: WorkerThread, serve: () => void): Promise<void> {
    return this.#serialize(async () => {
      const { isValid } = await thread.stage(this.#resources);
      if (!isValid) throw new Error("the configuration is not valid any more");
      const { reason } = await thread.call("open", this.#claimed);
      if (reason !== undefined) throw new Error(reason);
      await thread.call("commit");
      await thread.call("setEndpoints", this.#endpoints);
      serve();
    });
  }

  #serialize<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#changing.then(change);
    this.#changing = result.catch(() => {});
    return result;
  }

  async #apply(resources: ResourceSet): Promise<ApplyResult> {
    const threads = this.#options.threads();
    try {
      const stages = await threads.stageAll(resources);
      const stage = stages.find(({ isValid }) => !isValid) ?? stages[0];
      if (stage === undefined) throw new Error("every worker has ended");
      const { isValid, ports, report: { diagnostics, ...outcomes } } = stage;
      const failure = isValid ? await this.#open(ports, resources) : {};
      if (!isValid || failure.reason !== undefined) {
        await threads.callAll("abandon");
        return { applied: false, diagnostics, ...failure };
      }
      return { applied: true, diagnostics, outcomes };
    } catch (error) {
      await threads.callAll("abandon");
      throw error;
    }
  }

  /** Opens and commits; returns why that was not possible. */
  async #open(
    ports: readonly PlannedPort[],
    resources: ResourceSet,
  ): Promise<OpenFailure> {
    const threads = this.#options.threads();
    const claimed = new Map<string, number>();
    try {
      for (const port of ports) claimed.set(port.key, await this.#claim(port));
    } catch (error) {
      return describeOpenError(error);
    }
    const opened = await threads.callAll("open", claimed);
    const failure = opened.find(({ reason }) => reason !== undefined);
    if (failure !== undefined) return failure;
    this.#resources = resources;
    this.#endpoints = new Map();
    this.#claimed = claimed;
    const [events = []] = await threads.callAll("commit");
    replayPorts(events, this.#options.portObserver);
    return {};
  }

  /** Returns the number of a port, and makes sure that no other process listens on a new one. */
  async #claim(port: PlannedPort): Promise<number> {
    const known = this.#claimed.get(port.key);
    if (port.socket !== "new") return known ?? port.port;
    const isShared = this.#options.reusePort && port.port !== 0;
    return isShared ? port.port : await claimPort(port);
  }
}
