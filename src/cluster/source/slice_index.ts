import { serviceOf } from "../../api/resources/cluster_kinds.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";

/** Finds the slices of a service, and remembers which services have changed. */
export class SliceIndex {
  readonly #byService = new Map<string, Map<string, KubernetesObject>>();
  readonly #changed = new Set<string>();

  /** Takes note of a slice that came, changed or went. */
  onChange(
    now: KubernetesObject | undefined,
    before: KubernetesObject | undefined,
  ): void {
    if (before !== undefined) this.#remove(before);
    if (now === undefined) return;
    const service = serviceOf(now);
    this.#changed.add(service);
    this.#byService.getOrInsertComputed(service, () => new Map())
      .set(objectKey(now), now);
  }

  /** Returns the slices of a service. */
  of(service: string): Iterable<KubernetesObject> {
    return this.#byService.get(service)?.values() ?? [];
  }

  /** Returns the slices of the services that have changed since the last call. */
  takeChanged(): ReadonlyMap<string, readonly KubernetesObject[]> {
    const changed = new Map(
      this.#changed.values().map((service) => [
        service,
        [...this.#byService.get(service)?.values() ?? []],
      ]),
    );
    this.#changed.clear();
    return changed;
  }

  #remove(slice: KubernetesObject): void {
    const service = serviceOf(slice);
    this.#changed.add(service);
    const slices = this.#byService.get(service);
    slices?.delete(objectKey(slice));
    if (slices?.size === 0) this.#byService.delete(service);
  }
}
