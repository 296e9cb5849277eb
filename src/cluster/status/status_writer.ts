import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import { runInSlices } from "../../base/slices.ts";
import { ApiError, type KubernetesApi } from "../client/kubernetes_api.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import { type Collection, collectionPath } from "../source/collections.ts";
import { isStored } from "./stored_conditions.ts";
import type { StatusEvents } from "./status_events.ts";
import type { DesiredStatus } from "./status_sources.ts";

/** Dependencies of writing statuses. */
export interface StatusWriterOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Log;
  /** See `StatusSources`. */
  readonly stored: WeakMap<KubernetesObject, object>;
  readonly collections: readonly Collection[];
  readonly events: StatusEvents;
}

/** Writes that are under way at the same time. */
const CONCURRENCY = 8;
const FORBIDDEN = 403;
const INVALID = 422;

/** Writes statuses to the API server, those that differ from what is stored. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #byKind: ReadonlyMap<string, Collection>;
  /** Kinds whose statuses may not be written, as of the last write. */
  #denied = new Set<string>();
  /** Statuses that the API server found invalid, by the object: they would be again. */
  readonly #refused = new WeakMap<KubernetesObject, string>();
  /** Those that the log has named. */
  readonly #named = new Set<string>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#byKind = new Map(
      options.collections.map((collection) => [collection.kind, collection]),
    );
  }

  /** Reports whether the last write lacked a right. */
  get isDenied(): boolean {
    return this.#denied.size > 0;
  }

  /**
   * Writes the statuses; returns how many could not be written, and have to be attempted again soon. Of a kind without a right, one
   * attempt is made.
   */
  async write(
    statuses: Iterable<DesiredStatus>,
    signal: AbortSignal,
  ): Promise<number> {
    const { clock } = this.#options;
    this.#denied = new Set();
    const waiting = await runInSlices(this.#selectChanged(statuses), clock);
    let failures = 0;
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        if (signal.aborted) return;
        if (!await this.#writeOne(next, signal)) failures++;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    return failures;
  }

  *#selectChanged(
    statuses: Iterable<DesiredStatus>,
  ): Generator<void, DesiredStatus[]> {
    const changed: DesiredStatus[] = [];
    for (const desired of statuses) {
      const { object, status, outcome } = desired;
      if (!isStored(object["status"], status)) {
        const refused = this.#refused.get(object);
        if (refused === undefined || refused !== JSON.stringify(status)) {
          changed.push(desired);
        }
      } else if (outcome) this.#options.stored.set(object, outcome);
      yield;
    }
    return changed;
  }

  async #writeOne(
    desired: DesiredStatus,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { api, clock, events, log } = this.#options;
    const { object, status } = desired;
    const kind = String(object.kind);
    const collection = this.#byKind.get(kind);
    if (collection === undefined || this.#denied.has(kind)) return true;
    const { name, namespace } = object.metadata;
    const path = `${collectionPath(collection, namespace)}/${name}/status`;
    try {
      // With the version that was read: a change in between is a conflict, after which the new object is compiled and written.
      await api.request({
        method: "PUT",
        path,
        signal,
        body: { ...object, status: { ...statusOf(object), ...status } },
      });
      this.#named.delete(kind);
      await events.write(desired, clock.now(), signal);
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      // Changed or gone: the watch brings the new state.
      if (error instanceof ApiError && error.code === 404) return true;
      if (error instanceof ApiError && error.code === FORBIDDEN) {
        this.#deny(kind, error);
        return true;
      }
      if (error instanceof ApiError && error.code === INVALID) {
        this.#refused.set(object, JSON.stringify(status));
      }
      const isConflict = error instanceof ApiError && error.code === 409;
      log[isConflict ? "debug" : "warn"]("Cannot write the status", {
        kind,
        resource: objectKey(object),
        error,
      });
      return this.#refused.has(object);
    }
  }

  #deny(kind: string, error: ApiError): void {
    this.#denied.add(kind);
    if (this.#named.has(kind)) return;
    this.#named.add(kind);
    this.#options.log.error("May not write statuses of this kind", {
      kind,
      error,
    });
  }
}

function statusOf({ status }: DesiredStatus["object"]): object {
  return typeof status === "object" && status !== null ? status : {};
}
