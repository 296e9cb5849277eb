import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { Informer } from "../client/informer.ts";
import { ApiError, type KubernetesApi } from "../client/kubernetes_api.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import { type Collection, collectionPath } from "./collections.ts";

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
}

interface Watched {
  readonly collection: Collection;
  readonly path: string;
  readonly informer: Informer;
}

/** Keeps copies of all collections. */
export class ClusterCache {
  readonly #watched: readonly Watched[];
  /** Paths that cannot be read at present. */
  readonly #failing = new Map<string, string>();
  /** Paths of optional collections that the API server does not have. */
  readonly #absent = new Set<string>();
  readonly #synced = Promise.withResolvers<void>();
  #version = 0;

  constructor(options: CacheOptions) {
    this.#watched = options.collections.flatMap((collection) =>
      pathsOf(collection, options.namespaces).map((path) => ({
        collection,
        path,
        informer: this.#createInformer(path, collection, options),
      }))
    );
  }

  /** Increases with each change. */
  get version(): number {
    return this.#version;
  }

  /** Resolves when every collection has been read once. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Returns why collections cannot be read at present, by their paths. */
  get failures(): ReadonlyMap<string, string> {
    return this.#failing;
  }

  /** Returns the objects of a collection. */
  *objectsOf(wanted: Collection): Iterable<KubernetesObject> {
    for (const { collection, informer } of this.#watched) {
      if (collection === wanted) yield* informer.items.values();
    }
  }

  /** Returns the objects of a kind. */
  *objects(kind: Collection["kind"]): Iterable<KubernetesObject> {
    for (const { collection, informer } of this.#watched) {
      if (collection.kind === kind) yield* informer.items.values();
    }
  }

  /** Follows the collections until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#watched.map(({ informer }) => informer.run(signal)),
    );
  }

  #createInformer(
    path: string,
    collection: Collection,
    { api, clock, log, random, onChange }: CacheOptions,
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
        if (isStatusOnly(now, before)) return;
        this.#version++;
        onChange(collection, now, before);
      },
      onSync: () => this.#checkSynced(),
      onError: (error) => {
        const isAbsent = collection.isOptional === true &&
          error instanceof ApiError && error.code === 404;
        if (isAbsent) this.#onAbsent(path, log);
        else this.#onError(path, error, log);
      },
    });
  }

  #checkSynced(): void {
    const isSynced = this.#watched.every(({ path, informer }) =>
      informer.hasSynced || this.#absent.has(path)
    );
    if (isSynced) this.#synced.resolve();
  }

  /** The informer goes on asking, so that a definition that is installed later is used. */
  #onAbsent(path: string, log: Log): void {
    if (this.#absent.has(path)) return;
    this.#absent.add(path);
    log.info("The API server does not have this collection", { path });
    this.#checkSynced();
  }

  #onError(path: string, error: Error | undefined, log: Log): void {
    if (error === undefined) {
      if (this.#failing.delete(path)) log.info("Reading again", { path });
      return;
    }
    // One line when it begins; the attempts after it are for debugging.
    const level = this.#failing.has(path) ? "debug" : "error";
    this.#failing.set(path, error.message);
    log[level]("Cannot read from the API server, attempting again", {
      path,
      error,
    });
  }
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
