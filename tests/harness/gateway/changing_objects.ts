import type { ServiceSlices } from "../../../src/api/resources/cluster_kinds.ts";
import {
  emptyResourceSet,
  type ResourceSet,
} from "../../../src/api/resources/resource_set.ts";
import {
  type ObjectSource,
  textSource,
} from "../../../src/config/configuration_source.ts";
import { loadCandidate } from "../../../src/gateway/candidate/candidate.ts";

/** Reads resources as a cluster has them. */
export async function readObjects(text: string): Promise<ResourceSet> {
  const { loaded } = await loadCandidate(textSource(text));
  return loaded.resources;
}

/** A source of objects that a test changes. */
export class ChangingObjects implements ObjectSource {
  readonly #settings;
  #resources = emptyResourceSet;
  #endpoints: ServiceSlices | undefined;
  #version = 0;
  #changed = Promise.withResolvers<void>();

  constructor(config: Readonly<Record<string, unknown>> = {}) {
    this.#settings = textSource(
      JSON.stringify({
        config: { adminAddr: "off", statsAddr: "off", ...config },
      }),
    );
  }

  read() {
    return this.#settings.read();
  }

  watch({ signal }: { readonly signal: AbortSignal }) {
    signal.addEventListener("abort", () => this.#changed.resolve());
    return Promise.resolve(this.#changes(signal));
  }

  async *#changes(signal: AbortSignal): AsyncGenerator<void> {
    while (!signal.aborted) {
      await this.#changed.promise;
      this.#changed = Promise.withResolvers();
      if (!signal.aborted) yield;
    }
  }

  objects() {
    this.#endpoints = new Map();
    return {
      resources: { ...this.#resources, isolatesErrors: true },
      version: String(this.#version),
    };
  }

  changedEndpoints(): ServiceSlices | undefined {
    const changed = this.#endpoints;
    this.#endpoints = new Map();
    return changed;
  }

  problem(): undefined {}

  /** Makes these all resources. */
  replace(resources: ResourceSet): void {
    this.#resources = resources;
    this.#endpoints = undefined;
    this.#version++;
    this.#changed.resolve();
  }

  /** Changes only the endpoints of some services. */
  replaceEndpoints(changed: ServiceSlices): void {
    this.#endpoints = changed;
    this.#changed.resolve();
  }
}
