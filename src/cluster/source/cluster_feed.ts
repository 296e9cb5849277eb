import type { KubernetesObject } from "../client/kubernetes_object.ts";
import type { Collection } from "./collections.ts";

/** A copy of a collection. */
export interface CollectionCopy {
  readonly collection: Collection;
  /** Unique: the path with the selectors. */
  readonly key: string;
  /** Objects by `namespace/name`. */
  readonly items: ReadonlyMap<string, KubernetesObject>;
  /** True once the collection has been read. */
  readonly hasSynced: boolean;
}

/** Keeps copies of collections, from the API server or from a controller. */
export interface ClusterFeed {
  readonly copies: readonly CollectionCopy[];
  /** Follows the collections until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Receives what a feed reads. */
export interface FeedEvents {
  /** Called for each object that came, changed or went, after the copy has it. */
  readonly onChange: (
    collection: Collection,
    now: KubernetesObject | undefined,
    before: KubernetesObject | undefined,
  ) => void;
  /** Called after a collection was read, complete or the same as before. */
  readonly onSync: () => void;
  /** Called when a path cannot be read, and with `undefined` when it can again. */
  readonly onError: (path: string, error: Error | undefined) => void;
  /** Called when the API server does not have the kind of a path. */
  readonly onAbsent: (path: string) => void;
}

/** Formats the key of a collection. */
export function keyOf(
  { fieldSelector = "", labelSelector = "" }: Collection,
  path: string,
): string {
  return `${path}?${fieldSelector}${labelSelector}`;
}
