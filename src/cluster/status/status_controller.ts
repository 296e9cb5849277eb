import { type Clock, pause } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import { WakeUp } from "../client/wake_up.ts";
import type { Outcomes } from "../../compile/outcomes/outcomes.ts";
import type { KubernetesApi } from "../client/kubernetes_api.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import type { ClusterState } from "../source/cluster_state.ts";
import type { ClusterSource } from "../source/cluster_source.ts";
import { desiredStatuses } from "./desired_status.ts";
import type { StatusSources } from "./status_sources.ts";
import { type KeyProblems, keyProblemsOf } from "./key_problems.ts";
import { StatusEvents } from "./status_events.ts";
import { StatusWriter } from "./status_writer.ts";
import { supportedFeatures } from "./supported_features.ts";

/** Dependencies of the controller. */
export interface StatusControllerOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly source: ClusterSource;
  readonly controllerName: string;
  /** Returns the addresses of a gateway that has none of its own. */
  readonly addressesOf: StatusSources["addressesOf"];
  readonly conditionsOf: StatusSources["conditionsOf"];
  /** Name of this process. */
  readonly identity: string;
}

/** Pause before statuses that could not be written are attempted again. */
const RETRY_MS = 250;
/** Pause before a right that was missing is attempted again. */
const DENIED_MS = 10_000;
/** Pause between two looks at the state of keys. */
const KEYS_MS = 5_000;
/** Longest time until a status that somebody else has changed is written again, and shortest between two such writes. */
const DRIFT_MS = 1_000;

/** Writes the statuses of what is in force, while this process leads. */
export class StatusController {
  readonly #options: StatusControllerOptions;
  readonly #stored = new WeakMap<KubernetesObject, object>();
  readonly #writer: StatusWriter;
  #applied:
    | { readonly state: ClusterState; readonly outcomes: Outcomes }
    | undefined;
  readonly #applications = new WakeUp();
  #keyProblems: KeyProblems = new Map();
  #isDriftExpected = false;

  constructor(options: StatusControllerOptions) {
    this.#options = options;
    this.#writer = new StatusWriter({
      ...options,
      stored: this.#stored,
      collections: options.source.collections,
      events: new StatusEvents(options),
    });
  }

  /** Takes note of a configuration that is in force now; a snapshot says nothing about the cluster as it is. */
  onApplied(outcomes: Outcomes): void {
    const { taken } = this.#options.source;
    if (taken === undefined || taken.isRestored === true) return;
    this.#applied = { state: taken, outcomes };
    this.#applications.wake();
  }

  /** Writes the statuses again: addresses or other conditions of gateways have changed. */
  refresh(): void {
    if (this.#applied !== undefined) this.#applied = { ...this.#applied };
    this.#applications.wake();
  }

  /** Compares the statuses soon: this controller has written one, or somebody else has. */
  onStatusChange(): void {
    if (this.#isDriftExpected) return;
    this.#isDriftExpected = true;
    this.#options.clock.setTimer(() => {
      this.#isDriftExpected = false;
      this.refresh();
    }, DRIFT_MS);
  }

  /** Follows the state of key sets, which `read` returns, until `signal` aborts. */
  async followKeys(
    read: () => Promise<readonly unknown[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      try {
        const problems = keyProblemsOf(await read());
        const isSame = JSON.stringify([...problems]) ===
          JSON.stringify([...this.#keyProblems]);
        this.#keyProblems = problems;
        if (!isSame) this.refresh();
      } catch (error) {
        log.debug("Cannot read the state of keys", { error });
      }
      await pause(clock, KEYS_MS, signal);
    }
  }

  /** Writes statuses until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const applied = this.#applied;
      const failures = await this.#writeAll(signal);
      if (failures > 0) {
        await pause(this.#options.clock, RETRY_MS, signal);
      } else if (this.#applied === applied) {
        await this.#nextApplied(signal);
      }
    }
  }

  /** Without a right, it is attempted again after a time, too. */
  async #nextApplied(signal: AbortSignal): Promise<void> {
    const cancelTimer = this.#writer.isDenied
      ? this.#options.clock.setTimer(
        () => this.#applications.wake(),
        DENIED_MS,
      )
      : () => {};
    await this.#applications.wait(signal);
    cancelTimer();
  }

  async #writeAll(signal: AbortSignal): Promise<number> {
    if (this.#applied === undefined) return 0;
    const { clock, source, controllerName, addressesOf, conditionsOf } =
      this.#options;
    const statuses = desiredStatuses({
      ...this.#applied,
      controllerName,
      supportedFeatures,
      addressesOf,
      conditionsOf,
      objects: (kind) => source.cache.objects(kind),
      keyProblems: this.#keyProblems,
      stored: this.#stored,
      now: clock.now(),
    });
    return await this.#writer.write(statuses, signal);
  }
}
