import { type Clock, pause } from "../../base/clock.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import type { ClusterCache } from "../source/cluster_cache.ts";
import { keyOf } from "../source/cluster_feed.ts";
import type { ClusterState } from "../source/cluster_state.ts";
import type { ClusterSource } from "../source/cluster_source.ts";
import { collectionPath } from "../source/collections.ts";
import { reservedService } from "../source/reserved_addresses.ts";
import { GatewayIndex, type GatewayPart } from "./gateway_index.ts";
import { BEAT_MS, type DeliveryMessage } from "../source/delivery_messages.ts";

/** Quiet time that ends a burst of changes. */
const QUIET_MS = 20;
/** Time after which a proxy has to show its token again. */
const LIFE_MS = 10 * 60_000;

/** The cluster, as deliveries read it. */
export interface DeliverySource extends
  Pick<
    ClusterSource,
    "entries" | "slicesOf" | "structure" | "collections" | "problem"
  > {
  readonly cache: Pick<ClusterCache, "version" | "objectsOf">;
  readonly taken: Pick<ClusterState, "resources"> | undefined;
}

/** Dependencies of deliveries. */
export interface DeliveryOptions {
  readonly source: DeliverySource;
  readonly clock: Clock;
  readonly random: () => number;
}

/** An object with the key of its collection. */
interface Delivered {
  readonly key: string;
  readonly object: KubernetesObject;
}

/** Tells the proxies of each gateway what their part of the cluster is, and how it changes. */
export class Deliveries {
  readonly #options: DeliveryOptions;
  #index: GatewayIndex | undefined;
  /** Parts by gateway; those of `#structure`. */
  readonly #parts = new Map<string, GatewayPart>();
  #structure = -1;
  #reserved = reservedService([]);
  #changed = new AbortController();

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Takes note of a change of the cluster. */
  onChange(): void {
    this.#changed.abort();
    this.#changed = new AbortController();
  }

  /** Yields the objects of a gateway, `namespace/name`, then each change, until `signal` aborts or the stream is old. */
  async *follow(
    gateway: string,
    signal: AbortSignal,
  ): AsyncGenerator<readonly DeliveryMessage[]> {
    const { source, clock, random } = this.#options;
    const sent = new Map<string, KubernetesObject>();
    const endsAt = clock.monotonic() + LIFE_MS * (0.5 + random() / 2);
    let seen = -1;
    let saidAt = -Infinity;
    while (!signal.aborted && clock.monotonic() < endsAt) {
      seen = source.cache.version;
      const changes = [...this.#changesOf(gateway, sent)];
      if (changes.length > 0 || clock.monotonic() - saidAt >= BEAT_MS) {
        saidAt = clock.monotonic();
        yield [...changes, { end: true, problem: source.problem() }];
      }
      if (source.cache.version === seen) {
        const changed = this.#changed.signal;
        await pause(clock, BEAT_MS, AbortSignal.any([signal, changed]));
      }
      await pause(clock, QUIET_MS, signal);
    }
  }

  /** Yields the differences to what was sent, and takes note of them. */
  *#changesOf(
    gateway: string,
    sent: Map<string, KubernetesObject>,
  ): Generator<DeliveryMessage> {
    const gone = new Set(sent.keys());
    for (const { key, object } of this.#objectsOf(gateway)) {
      const id = `${key} ${objectKey(object)}`;
      gone.delete(id);
      if (sent.get(id) === object) continue;
      sent.set(id, object);
      const { status: _, ...rest } = object;
      yield { key, object: rest };
    }
    for (const id of gone) {
      sent.delete(id);
      const [key = "", name = ""] = id.split(/ (?=[^ ]*$)/);
      yield { key, gone: name };
    }
  }

  *#objectsOf(gateway: string): Generator<Delivered> {
    const { source } = this.#options;
    const { entries, services } = this.#partOf(gateway);
    for (const { key, object } of entries) yield { key, object };
    for (const collection of source.collections) {
      const key = keyOf(collection, collectionPath(collection));
      if (collection.kind === "EndpointSlice") {
        for (const service of services) {
          for (const object of source.slicesOf(service)) yield { key, object };
        }
      }
      if (collection.kind === "Service") {
        yield { key, object: this.#reservedNow() };
      }
      if (collection.kind === "GatewayClass") {
        const names = classNamesOf(entries);
        for (const object of source.cache.objectsOf(collection)) {
          if (names.has(object.metadata.name)) yield { key, object };
        }
      }
    }
  }

  /** Returns the same object while the addresses are the same. */
  #reservedNow(): KubernetesObject {
    const { reserved = [] } = this.#options.source.taken?.resources ?? {};
    const now = reservedService(reserved);
    const { resourceVersion } = this.#reserved.metadata;
    if (now.metadata.resourceVersion !== resourceVersion) this.#reserved = now;
    return this.#reserved;
  }

  #partOf(gateway: string): GatewayPart {
    const { source } = this.#options;
    if (this.#index === undefined || this.#structure !== source.structure) {
      this.#structure = source.structure;
      this.#index = new GatewayIndex([...source.entries()]);
      this.#parts.clear();
    }
    const index = this.#index;
    return this.#parts.getOrInsertComputed(
      gateway,
      () => index.partOf(gateway),
    );
  }
}

function classNamesOf(entries: GatewayPart["entries"]): Set<string> {
  const names = new Set<string>();
  for (const { resource } of entries) {
    if (resource.kind === "Gateway") {
      names.add(resource.spec.gatewayClassName ?? "");
    }
  }
  return names;
}
