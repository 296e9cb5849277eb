import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import { ApiHeartbeat } from "../client/api_heartbeat.ts";
import { Informer } from "../client/informer.ts";
import { ApiError, type KubernetesApi } from "../client/kubernetes_api.ts";
import { servedVersions } from "../client/served_versions.ts";
import {
  type ClusterFeed,
  type CollectionCopy,
  type FeedEvents,
  keyOf,
} from "./cluster_feed.ts";
import { type Collection, collectionPath } from "./collections.ts";

/** Dependencies of reading from an API server. */
export interface ApiFeedOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly collections: readonly Collection[];
  /** Namespaces to watch; empty for all. */
  readonly namespaces: readonly string[];
}

/** Lists and watches all collections of an API server. */
export class ApiFeed implements ClusterFeed {
  readonly copies: readonly CollectionCopy[];
  readonly #informers: readonly Informer[];
  readonly #heartbeat: ApiHeartbeat;

  constructor(options: ApiFeedOptions, events: FeedEvents) {
    const watched = options.collections.flatMap((collection) =>
      pathsOf(collection, options.namespaces).map((path) => ({
        collection,
        key: keyOf(collection, path),
        informer: this.#createInformer(path, collection, options, events),
      }))
    );
    this.#informers = watched.map(({ informer }) => informer);
    this.copies = watched.map(({ collection, key, informer }) => ({
      collection,
      key,
      items: informer.items,
      get hasSynced() {
        return informer.hasSynced;
      },
    }));
    this.#heartbeat = new ApiHeartbeat({
      ...options,
      onReturn: () => {
        for (const informer of this.#informers) informer.retryNow();
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#heartbeat.run(signal),
      ...this.#informers.map((informer) => informer.run(signal)),
    ]);
  }

  #createInformer(
    path: string,
    collection: Collection,
    { api, clock, random }: ApiFeedOptions,
    { onChange, onSync, onError, onAbsent }: FeedEvents,
  ): Informer {
    const { fieldSelector, labelSelector } = collection;
    return new Informer({
      ...{ api, clock, random, path, onSync },
      ...(fieldSelector !== undefined && { fieldSelector }),
      ...(labelSelector !== undefined && { labelSelector }),
      onChange: (now, before) => onChange(collection, now, before),
      isMissing: async () => {
        const missing = await isMissing(collection, api);
        if (missing) onAbsent(path);
        return missing;
      },
      onError: (error) => {
        if (error !== undefined && !(error instanceof ApiError)) {
          this.#heartbeat.beatNow();
        }
        onError(path, error);
      },
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

function pathsOf(
  collection: Collection,
  namespaces: readonly string[],
): readonly string[] {
  return namespaces.length === 0 || collection.isClusterScoped === true
    ? [collectionPath(collection)]
    : namespaces.map((namespace) => collectionPath(collection, namespace));
}
