import {
  serviceOf,
  type ServiceSlices,
} from "../../api/resources/cluster_kinds.ts";
import type {
  KindSchemas,
  Resource,
} from "../../api/resources/resource_set.ts";
import { type Clock, pause } from "../../base/clock.ts";
import type { ReservedAddress } from "../../base/wire/egress_rules.ts";
import type { Log } from "../../base/log/log.ts";
import { WakeUp } from "../client/wake_up.ts";
import type {
  ConfigurationSource,
  ObjectResources,
  ObjectSource,
} from "../../config/configuration_source.ts";
import type { KubernetesApi } from "../client/kubernetes_api.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import { ClusterCache } from "./cluster_cache.ts";
import { keyOf } from "./cluster_feed.ts";
import {
  collectionPath,
  type ConfigurationCollection,
  createCollections,
} from "./collections.ts";
import { objectAddresses } from "./reserved_addresses.ts";
import { followSnapshot } from "./follow_snapshot.ts";
import { SliceIndex } from "./slice_index.ts";
import { SnapshotFile } from "./snapshot_file.ts";
import { type ReadObject, readObject } from "./read_objects.ts";
import {
  type ClusterState,
  readState,
  type StateOptions,
} from "./cluster_state.ts";

/** Dependencies of reading a cluster. */
export interface ClusterSourceOptions extends StateOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly schemas: KindSchemas;
  /** API group of the gateway's own kinds. */
  readonly policyApiGroup: string;
  /** Namespaces to watch; empty for all. */
  readonly namespaces: readonly string[];
  /** `api` is a controller, which delivers the objects of `gateway`. */
  readonly isDelivered?: boolean;
  /** Path of a file with what was read last, for a start while the API server is away. */
  readonly snapshot?: string | undefined;
  /** Addresses that backends must not reach, besides those that the cluster says. */
  readonly reserved?: readonly ReservedAddress[];
  /** Source of the settings. */
  readonly settings: ConfigurationSource;
  /** Called when only the status of an object has changed, or its bookkeeping. */
  readonly onStatusChange?: () => void;
  /** Called when anything else has changed. */
  readonly onChange?: () => void;
}

/** An object of the cluster that can be used. */
export interface Entry {
  /** Key of its collection. */
  readonly key: string;
  readonly object: KubernetesObject;
  readonly resource: Resource;
}

/** Quiet time that ends a burst of changes, and the longest that a change waits for it. */
const QUIET_MS = 20;
const MAX_DELAY_MS = 40;

/** Configuration from the resources of a cluster. */
export class ClusterSource implements ObjectSource {
  readonly cache: ClusterCache;
  readonly #options: ClusterSourceOptions;
  readonly #collections: readonly ConfigurationCollection[];
  /** Results by object; the cache replaces objects and never changes them. */
  readonly #read = new WeakMap<KubernetesObject, ReadObject>();
  #state: ClusterState | undefined;
  #stateVersion = -1;
  #taken: ClusterState | undefined;
  readonly #slices = new SliceIndex();
  /** Services whose endpoints are reserved. */
  #ownServices: ReadonlySet<string> = new Set();
  /** Something besides endpoints has changed since it was taken. */
  #hasChanged = false;
  #structure = 0;
  readonly #wakeUp = new WakeUp();

  constructor(options: ClusterSourceOptions) {
    this.#options = options;
    this.#collections = createCollections(options.policyApiGroup);
    this.cache = new ClusterCache({
      ...options,
      collections: this.#collections,
      onChange: (collection, now, before) => {
        const isSlice = collection.kind === "EndpointSlice";
        if (isSlice) this.#slices.onChange(now, before);
        else this.#structure++;
        if (!isSlice || this.#isReserved(now) || this.#isReserved(before)) {
          this.#hasChanged = true;
        }
        options.onChange?.();
        if (this.cache.restoredFrom === undefined) this.#wakeUp.wake();
      },
      onLive: () => {
        this.#hasChanged = true;
        this.#wakeUp.wake();
      },
    });
  }

  /** Returns the settings; waits until the cluster has been read once. */
  async read() {
    await this.cache.synced;
    return await this.#options.settings.read();
  }

  objects(): ObjectResources {
    this.#taken = this.state();
    this.#hasChanged = false;
    this.#slices.takeChanged();
    return {
      resources: {
        ...this.#taken.resources,
        isolatesErrors: true,
        separatesGateways: this.#options.isManaged,
      },
      version: String(this.cache.version),
    };
  }

  problem(): string | undefined {
    const { failures: [first], restoredFrom } = this.cache;
    const problem = first &&
      `Cannot read ${first[0]} from ${this.cache.source}: ${first[1]}`;
    if (restoredFrom === undefined) return problem;
    const time = new Date(restoredFrom).toISOString();
    return [`Serving the snapshot of ${time}`, problem].filter((part) =>
      part !== undefined
    ).join(". ");
  }

  changedEndpoints(): ServiceSlices | undefined {
    if (this.#hasChanged) return undefined;
    const collection = this.#collections.find(({ kind }) =>
      kind === "EndpointSlice"
    );
    const read = (object: KubernetesObject) =>
      collection && this.#readOnce(object, collection).resource;
    return new Map(
      this.#slices.takeChanged().entries().map(([service, objects]) => [
        service,
        objects.map(read).filter((resource) =>
          resource?.kind === "EndpointSlice"
        ),
      ]),
    );
  }

  /** Increases with each change of something besides endpoints. */
  get structure(): number {
    return this.#structure;
  }

  /** Returns all objects that can be used, besides endpoints. */
  *entries(): Generator<Entry> {
    for (const collection of this.#collections) {
      if (collection.kind === "EndpointSlice") continue;
      const key = keyOf(collection, collectionPath(collection));
      for (const object of this.cache.objectsOf(collection)) {
        const { resource } = this.#readOnce(object, collection);
        if (resource !== undefined) yield { key, object, resource };
      }
    }
  }

  /** Returns the slices of a service, `namespace/name`. */
  slicesOf(service: string): Iterable<KubernetesObject> {
    return this.#slices.of(service);
  }

  /** Returns the state that was taken last to be applied. */
  get taken(): ClusterState | undefined {
    return this.#taken;
  }

  get collections(): readonly ConfigurationCollection[] {
    return this.#collections;
  }

  /** Starts reading the cluster; then yields after each burst of changes until `signal` aborts. */
  watch(
    { signal }: { readonly signal: AbortSignal },
  ): Promise<AsyncIterable<void>> {
    const running = Promise.all([
      this.cache.run(signal),
      this.#followSnapshot(signal),
    ]);
    return Promise.resolve(this.#changes(signal, running));
  }

  async #followSnapshot(signal: AbortSignal): Promise<void> {
    const { snapshot: path, api: { access: { server } }, clock } =
      this.#options;
    if (path === undefined) return;
    const file = new SnapshotFile({ path, server, clock });
    await followSnapshot({ ...this.#options, cache: this.cache, file }, signal);
  }

  async *#changes(
    signal: AbortSignal,
    running: Promise<unknown>,
  ): AsyncGenerator<void> {
    const { clock } = this.#options;
    let seen = this.cache.version;
    while (!signal.aborted) {
      if (this.cache.version === seen) await this.#wakeUp.wait(signal);
      const startedAt = clock.monotonic();
      do {
        seen = this.cache.version;
        await pause(clock, QUIET_MS, signal);
      } while (
        this.cache.version !== seen && !signal.aborted &&
        clock.monotonic() - startedAt < MAX_DELAY_MS
      );
      seen = this.cache.version;
      if (!signal.aborted) yield;
    }
    await running;
  }

  /** Returns what is in the cluster now. */
  state(): ClusterState {
    if (
      this.#state !== undefined && this.#stateVersion === this.cache.version
    ) {
      return this.#state;
    }
    this.#stateVersion = this.cache.version;
    this.#state = readState({
      cache: this.cache,
      collections: this.#collections,
      read: (object, collection) => this.#readOnce(object, collection),
      reserved: this.#reserved(),
    }, this.#options);
    return this.#state;
  }

  #isReserved(slice: KubernetesObject | undefined): boolean {
    return slice !== undefined && this.#ownServices.has(serviceOf(slice));
  }

  #reserved(): readonly ReservedAddress[] {
    const { reserved = [], api: { access: { namespace } } } = this.#options;
    const { addresses, services } = objectAddresses({
      namespace,
      services: this.cache.objects("Service"),
      slices: this.cache.objects("EndpointSlice"),
    });
    this.#ownServices = services;
    return [...reserved, ...addresses];
  }

  #readOnce(
    object: KubernetesObject,
    collection: ConfigurationCollection,
  ): ReadObject {
    const known = this.#read.get(object);
    if (known !== undefined) return known;
    const read = readObject(object, collection, this.#options);
    this.#read.set(object, read);
    return read;
  }
}
