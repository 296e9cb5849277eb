import type {
  AllowedNamespaces,
  Gateway,
  Listener,
} from "../../api/resources/gateway_resource.ts";
import type { ListenerSet } from "../../api/resources/listener_set.ts";
import {
  type Resource,
  resourceKey,
  resourceSetOf,
} from "../../api/resources/resource_set.ts";
import { References } from "../../compile/resolve/references.ts";
import type { Entry } from "../source/cluster_source.ts";
import { type Needed, referencesOf } from "./references_of.ts";

/** The part of a cluster that the proxies of one gateway get. */
export interface GatewayPart {
  readonly entries: ReadonlySet<Entry>;
  /** Services whose endpoints belong to it, as `namespace/name`. */
  readonly services: ReadonlySet<string>;
}

/**
 * Finds what belongs to a gateway: its listener sets and routes, the policies of them, and what they refer to.
 *
 * References are followed only where a `ReferenceGrant` allows them: else the author of a route could hand Secrets of others to
 * proxies. Endpoints are no part of the index.
 */
export class GatewayIndex {
  readonly #byKey: ReadonlyMap<string, readonly Entry[]>;
  readonly #routes = new Map<string, Set<Entry>>();
  readonly #sets = new Map<string, Set<Entry>>();
  readonly #policies = new Map<string, Set<Entry>>();
  readonly #references: References;

  constructor(entries: readonly Entry[]) {
    this.#byKey = Map.groupBy(entries, ({ resource }) => resourceKey(resource));
    this.#references = new References(
      resourceSetOf(entries.map(({ resource }) => resource)),
    );
    for (const entry of entries) {
      for (const [index, owners] of this.#ownersOf(entry.resource)) {
        for (const owner of owners) {
          index.getOrInsertComputed(owner, () => new Set()).add(entry);
        }
      }
    }
  }

  /** Returns the part of a gateway, `namespace/name`; empty when the gateway is invalid. */
  partOf(gateway: string): GatewayPart {
    const entries = new Set<Entry>();
    const services = new Set<string>();
    const waiting = [...this.#byKey.get(`Gateway/${gateway}`) ?? []];
    for (let entry = waiting.pop(); entry; entry = waiting.pop()) {
      if (entries.has(entry)) continue;
      entries.add(entry);
      const { resource } = entry;
      if (resource.kind === "Service") {
        const { namespace, name } = resource.metadata;
        services.add(`${namespace}/${name}`);
      }
      waiting.push(...this.#withEntry(resource));
    }
    return { entries, services };
  }

  /** Returns what comes with a resource. */
  *#withEntry(resource: Resource): Generator<Entry> {
    if (resource.kind === "Namespace") return;
    const key = resourceKey(resource);
    yield* this.#policies.get(key) ?? [];
    yield* this.#byKey.get(
      resourceKey({
        kind: "Namespace",
        // Objects without a namespace are read as of this one.
        metadata: { namespace: "default", name: resource.metadata.namespace },
      }),
    ) ?? [];
    for (const set of this.#sets.get(key) ?? []) {
      if (this.#allowsSet(resource, set.resource)) yield set;
    }
    for (const route of this.#routes.get(key) ?? []) {
      if (this.#allowsRoute(resource, route.resource)) yield route;
    }
    for (const needed of referencesOf(resource)) {
      yield* this.#follow(resource, needed);
    }
  }

  *#follow(
    { apiVersion, kind, metadata: { namespace } }: Resource,
    to: Needed,
  ): Generator<Entry> {
    const [group = ""] = apiVersion.split("/");
    const from = { group, kind, namespace };
    if (namespace !== to.namespace) {
      const grants = this.#references.grantsFor(from, to);
      if (grants.length === 0) return;
      // Proxies check the reference again.
      for (const grant of grants) {
        yield* this.#byKey.get(resourceKey(grant)) ?? [];
      }
    }
    yield* this.#byKey.get(resourceKey({ kind: to.kind, metadata: to })) ?? [];
  }

  /** Returns the indexes that a resource is in, with its keys there. */
  #ownersOf(
    resource: Resource,
  ): readonly (readonly [Map<string, Set<Entry>>, readonly string[]])[] {
    const { namespace } = resource.metadata;
    const keysOf = (
      refs: readonly {
        readonly kind: string;
        readonly name: string;
        readonly namespace?: string | undefined;
      }[],
    ) =>
      refs.map(({ kind, name, namespace: own = namespace }) =>
        resourceKey({ kind, metadata: { namespace: own, name } })
      );
    switch (resource.kind) {
      case "HTTPRoute":
      case "GRPCRoute":
        return [[this.#routes, keysOf(resource.spec.parentRefs)]];
      case "ListenerSet":
        return [[this.#sets, keysOf([resource.spec.parentRef])]];
      case "GatewayPolicy":
      case "BackendTLSPolicy":
        return [[this.#policies, keysOf(resource.spec.targetRefs)]];
      default:
        return [];
    }
  }

  #allowsSet(gateway: Resource, set: Resource): boolean {
    if (gateway.kind !== "Gateway") return false;
    const namespaces = gateway.spec.allowedListeners?.namespaces;
    return this.#allows({ from: "None", ...namespaces }, gateway, set);
  }

  #allowsRoute(parent: Resource, route: Resource): boolean {
    if (!hasListeners(parent)) return false;
    return parent.spec.listeners.some(({ allowedRoutes }: Listener) =>
      this.#allows(
        { from: "Same", ...allowedRoutes?.namespaces },
        parent,
        route,
      )
    );
  }

  #allows(allowed: AllowedNamespaces, owner: Resource, of: Resource): boolean {
    return this.#references.allowsNamespace(allowed, {
      owner: owner.metadata.namespace,
      namespace: of.metadata.namespace,
    });
  }
}

function hasListeners(resource: Resource): resource is Gateway | ListenerSet {
  return resource.kind === "Gateway" || resource.kind === "ListenerSet";
}
