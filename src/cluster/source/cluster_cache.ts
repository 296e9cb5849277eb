import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { ApiHeartbeat } from "../client/api_heartbeat.ts";
import { Informer } from "../client/informer.ts";
import { ApiError, type KubernetesApi } from "../client/kubernetes_api.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import { servedVersions } from "../client/served_versions.ts";
import { type Collection, collectionPath } from "./collections.ts";
import type { CollectionContents, Snapshot } from "./snapshot_file.ts";

/** Dependencies of the cache. */
export interface CacheOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly collections: readonly Collection[];
  /** Namespaces to watch; empty for all. */
  readonly namespaces: readonly string[];
  /** Called for each object that came, changed or went. */
  readonly onChange: (
    collection: Collection,
    now: KubernetesObject | undefined,
    before: KubernetesObject | undefined,
  ) => void;
  /** Called when only the status of an object has changed, or its bookkeeping. */
  readonly onStatusChange?: () => void;
  /** Called when what was read replaces a snapshot. */
  readonly onLive?: () => void;
}

interface Watched {
  readonly collection: Collection;
  /** Unique: the path with the selectors. */
  readonly key: string;
  readonly informer: Informer;
}

/** Keeps copies of all collections. */
export class ClusterCache {
  readonly #options: CacheOptions;
  readonly #watched: readonly Watched[];
  readonly #heartbeat: ApiHeartbeat;
  /** Paths that cannot be read at present. */
  readonly #failing = new Map<string, string>();
  /** Paths of kinds that the API server does not have. */
  readonly #absent = new Set<string>();
  readonly #synced = Promise.withResolvers<void>();
  readonly #live = Promise.withResolvers<void>();
  /** In force until every collection has been read: a mix of old and new could lack a policy of a new route. */
  #snapshot: Snapshot | undefined;
  #version = 0;

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#heartbeat = new ApiHeartbeat({
      ...options,
      onReturn: () => {
        for (const { informer } of this.#watched) informer.retryNow();
      },
    });
    this.#watched = options.collections.flatMap((collection) =>
      pathsOf(collection, options.namespaces).map((path) => ({
        collection,
        key: keyOf(collection, path),
        informer: this.#createInformer(path, collection, options),
      }))
    );
  }

  /** Increases with each change. */
  get version(): number {
    return this.#version;
  }

  /** Resolves when there are objects: when every collection has been read once, or with a snapshot. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Resolves when every collection has been read once. */
  get live(): Promise<void> {
    return this.#live.promise;
  }

  /** Returns when the snapshot was written that is in force; `undefined` when none is. */
  get restoredFrom(): number | undefined {
    return this.#snapshot?.writtenAt;
  }

  /** Returns the keys of all collections. */
  get keys(): readonly string[] {
    return this.#watched.map(({ key }) => key);
  }

  /** Returns all objects by the keys of their collections. */
  contents(): CollectionContents {
    return new Map(
      this.#watched.map((watched) => [watched.key, [...this.#read(watched)]]),
    );
  }

  /** Puts a snapshot in force until every collection has been read; returns false when that is so already. */
  restore(snapshot: Snapshot): boolean {
    if (this.#isLive()) return false;
    this.#snapshot = snapshot;
    this.#version++;
    this.#synced.resolve();
    return true;
  }

  /** Returns why collections cannot be read at present, by their paths. */
  get failures(): ReadonlyMap<string, string> {
    return this.#failing;
  }

  /** Returns the objects of a collection. */
  *objectsOf(wanted: Collection): Iterable<KubernetesObject> {
    for (const watched of this.#watched) {
      if (watched.collection === wanted) yield* this.#read(watched);
    }
  }

  /** Returns the objects of a kind. */
  *objects(kind: Collection["kind"]): Iterable<KubernetesObject> {
    for (const watched of this.#watched) {
      if (watched.collection.kind === kind) yield* this.#read(watched);
    }
  }

  #read({ key, informer }: Watched): Iterable<KubernetesObject> {
    return this.#snapshot === undefined
      ? informer.items.values()
      : this.#snapshot.contents.get(key) ?? [];
  }

  /** Follows the collections until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#heartbeat.run(signal),
      ...this.#watched.map(({ informer }) => informer.run(signal)),
    ]);
  }

  #createInformer(
    path: string,
    collection: Collection,
    { api, clock, log, random, onChange, onStatusChange }: CacheOptions,
  ): Informer {
    return new Informer({
      api,
      clock,
      random,
      path,
      ...(collection.fieldSelector !== undefined &&
        { fieldSelector: collection.fieldSelector }),
      ...(collection.labelSelector !== undefined &&
        { labelSelector: collection.labelSelector }),
      onChange: (now, before) => {
        if (isStatusOnly(now, before)) return onStatusChange?.();
        if (this.#snapshot === undefined) this.#version++;
        onChange(collection, now, before);
      },
      onSync: () => this.#checkSynced(),
      isMissing: async () => {
        const missing = await isMissing(collection, api);
        if (missing) this.#onAbsent(path, log);
        return missing;
      },
      onError: (error) => this.#onError(path, error, log),
    });
  }

  #isLive(): boolean {
    return this.#watched.every(({ informer }) => informer.hasSynced);
  }

  #checkSynced(): void {
    if (!this.#isLive()) return;
    this.#synced.resolve();
    this.#live.resolve();
    if (this.#snapshot === undefined) return;
    this.#snapshot = undefined;
    this.#version++;
    this.#options.log.info("Read the cluster: the snapshot is replaced");
    this.#options.onLive?.();
  }

  /** The informer goes on asking, so that a definition that is installed later is used. */
  #onAbsent(path: string, log: Log): void {
    this.#failing.delete(path);
    if (this.#absent.has(path)) return;
    this.#absent.add(path);
    log.info("The API server does not have this kind", { path });
  }

  #onError(path: string, error: Error | undefined, log: Log): void {
    if (error === undefined) {
      this.#absent.delete(path);
      if (this.#failing.delete(path)) log.info("Reading again", { path });
      return;
    }
    if (!(error instanceof ApiError)) this.#heartbeat.beatNow();
    // One line for each problem; further attempts are for debugging.
    const level = this.#failing.get(path) === error.message ? "debug" : "error";
    this.#failing.set(path, error.message);
    log[level]("Cannot read from the API server, attempting again", {
      path,
      error,
    });
  }
}

/**
 * Reports whether the API server lacks a kind.
 * @throws {TypeError} When it has the kind in other versions only: without its objects, routes could be open.
 */
async function isMissing(
  { apiVersion, plural }: Collection,
  api: KubernetesApi,
): Promise<boolean> {
  const served = await servedVersions(api, apiVersion, plural);
  if (served.length === 0 || served.includes(apiVersion)) {
    return served.length === 0;
  }
  throw new TypeError(
    `The cluster has "${plural}" only in ${
      served.join(" and ")
    }, and the gateway reads ${apiVersion}: update its CustomResourceDefinition`,
  );
}

/** Reports whether only the status or bookkeeping has changed: the API server increases `generation` with the `spec`. */
function isStatusOnly(
  now: KubernetesObject | undefined,
  before: KubernetesObject | undefined,
): boolean {
  if (now?.metadata.generation === undefined || before === undefined) {
    return false;
  }
  const [a, b] = [now.metadata, before.metadata];
  return a.uid === b.uid && a.generation === b.generation &&
    a.deletionTimestamp === b.deletionTimestamp &&
    JSON.stringify([a.labels, a.annotations]) ===
      JSON.stringify([b.labels, b.annotations]);
}

function pathsOf(
  collection: Collection,
  namespaces: readonly string[],
): readonly string[] {
  return namespaces.length === 0 || collection.isClusterScoped === true
    ? [collectionPath(collection)]
    : namespaces.map((namespace) => collectionPath(collection, namespace));
}

function keyOf(
  { fieldSelector = "", labelSelector = "" }: Collection,
  path: string,
): string {
  return `${path}?${fieldSelector}${labelSelector}`;
}
