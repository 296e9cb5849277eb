import type { KubernetesObject } from "../client/kubernetes_object.ts";
import { ApiFeed, type ApiFeedOptions } from "./api_feed.ts";
import type {
  ClusterFeed,
  CollectionCopy,
  FeedEvents,
} from "./cluster_feed.ts";
import type { Collection } from "./collections.ts";
import { DeliveredFeed } from "./delivered_feed.ts";
import type { CollectionContents, Snapshot } from "./snapshot_file.ts";

/** Dependencies of the cache. */
export interface CacheOptions extends ApiFeedOptions {
  /** `api` is a controller, which delivers the objects of one gateway. */
  readonly isDelivered?: boolean;
  /** Called for each object that came, changed or went. */
  readonly onChange: FeedEvents["onChange"];
  /** Called when only the status of an object has changed, or its bookkeeping. */
  readonly onStatusChange?: () => void;
  /** Called when what was read replaces a snapshot. */
  readonly onLive?: () => void;
}

/** Keeps copies of all collections. */
export class ClusterCache {
  readonly #options: CacheOptions;
  readonly #feed: ClusterFeed;
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
    const Feed = options.isDelivered === true ? DeliveredFeed : ApiFeed;
    this.#feed = new Feed(options, {
      onChange: (...change) => this.#onChange(...change),
      onSync: () => this.#checkSynced(),
      onError: (path, error) => this.#onError(path, error),
      onAbsent: (path) => this.#onAbsent(path),
    });
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
    return this.#feed.copies.map(({ key }) => key);
  }

  /** Returns all objects by the keys of their collections. */
  contents(): CollectionContents {
    return new Map(
      this.#feed.copies.map((copy) => [copy.key, [...this.#read(copy)]]),
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

  /** Name of where the objects come from, for messages. */
  get source(): string {
    return this.#options.isDelivered === true
      ? "the controller"
      : "the API server";
  }

  /** Returns why collections cannot be read at present, by their paths. */
  get failures(): ReadonlyMap<string, string> {
    return this.#failing;
  }

  /** Returns the objects of a collection. */
  *objectsOf(wanted: Collection): Iterable<KubernetesObject> {
    for (const copy of this.#feed.copies) {
      if (copy.collection === wanted) yield* this.#read(copy);
    }
  }

  /** Returns the objects of a kind. */
  *objects(kind: Collection["kind"]): Iterable<KubernetesObject> {
    for (const copy of this.#feed.copies) {
      if (copy.collection.kind === kind) yield* this.#read(copy);
    }
  }

  #read({ key, items }: CollectionCopy): Iterable<KubernetesObject> {
    return this.#snapshot === undefined
      ? items.values()
      : this.#snapshot.contents.get(key) ?? [];
  }

  /** Follows the collections until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#feed.run(signal);
  }

  #onChange(...change: Parameters<FeedEvents["onChange"]>): void {
    const { onChange, onStatusChange } = this.#options;
    const [, now, before] = change;
    if (isStatusOnly(now, before)) return onStatusChange?.();
    if (this.#snapshot === undefined) this.#version++;
    onChange(...change);
  }

  #isLive(): boolean {
    return this.#feed.copies.every(({ hasSynced }) => hasSynced);
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
  #onAbsent(path: string): void {
    this.#failing.delete(path);
    if (this.#absent.has(path)) return;
    this.#absent.add(path);
    this.#options.log.info("The API server does not have this kind", { path });
  }

  #onError(path: string, error: Error | undefined): void {
    const { log } = this.#options;
    if (error === undefined) {
      this.#absent.delete(path);
      if (this.#failing.delete(path)) log.info("Reading again", { path });
      return;
    }
    // One line for each problem; further attempts are for debugging.
    const level = this.#failing.get(path) === error.message ? "debug" : "error";
    this.#failing.set(path, error.message);
    log[level](`Cannot read from ${this.source}, attempting again`, {
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
