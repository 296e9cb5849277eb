import type {
  ConfigMap,
  ReferenceGrant,
  Secret,
  Service,
} from "../../api/resources/cluster_kinds.ts";
import type {
  AllowedNamespaces,
  LabelSelector,
} from "../../api/resources/gateway_resource.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import { namespacedName } from "./precedence.ts";

/** The resource that refers. */
export interface Referrer {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
}

/** The resource that is referred to. */
export interface Referent extends Referrer {
  readonly name: string;
}

/** Resources that others refer to, and the permissions to do so across namespaces. */
export class References {
  readonly services: ReadonlyMap<string, Service>;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
  readonly #labels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly #grants: ReadonlyMap<string, readonly ReferenceGrant[]>;

  constructor(resources: ResourceSet) {
    this.services = byName(resources.services);
    this.secrets = byName(resources.secrets);
    this.configMaps = byName(resources.configMaps);
    this.#labels = new Map(
      resources.namespaces.map(({ metadata: { name, labels = {} } }) => [
        name,
        labels,
      ]),
    );
    this.#grants = Map.groupBy(
      resources.referenceGrants,
      ({ metadata }) => metadata.namespace,
    );
  }

  /** Reports whether a reference stays in its namespace, or a `ReferenceGrant` of the other namespace allows it. */
  isAllowed(from: Referrer, to: Referent): boolean {
    return from.namespace === to.namespace ||
      this.grantsFor(from, to).length > 0;
  }

  /** Returns the grants that allow a reference to another namespace. */
  grantsFor(from: Referrer, to: Referent): readonly ReferenceGrant[] {
    const grants = this.#grants.get(to.namespace) ?? [];
    return grants.filter(({ spec }) =>
      spec.from.some(({ group, kind, namespace }) =>
        group === from.group && kind === from.kind &&
        namespace === from.namespace
      ) &&
      spec.to.some(({ group, kind, name }) =>
        group === to.group && kind === to.kind &&
        (name === undefined || name === to.name)
      )
    );
  }

  /** Reports whether resources of `namespace` may attach to one of namespace `owner`. */
  allowsNamespace(
    { from, selector }: AllowedNamespaces,
    { owner, namespace }: {
      readonly owner: string;
      readonly namespace: string;
    },
  ): boolean {
    switch (from) {
      case "All":
        return true;
      case "Same":
        return owner === namespace;
      case "Selector":
        return this.#selects(selector, namespace);
      default:
        return false;
    }
  }

  /** Reports whether a selector selects a namespace; one that is not known has no labels. */
  #selects(selector: LabelSelector | undefined, namespace: string): boolean {
    const labels = {
      "kubernetes.io/metadata.name": namespace,
      ...this.#labels.get(namespace),
    };
    // A selector that is not set selects nothing; an empty one selects everything.
    return selector !== undefined && selects(selector, labels);
  }
}

function byName<
  R extends {
    readonly metadata: { readonly namespace: string; readonly name: string };
  },
>(resources: readonly R[]): ReadonlyMap<string, R> {
  return new Map(
    resources.map((resource) => [namespacedName(resource), resource]),
  );
}

/** Evaluates a selector as Kubernetes does: a missing label satisfies `NotIn`. */
function selects(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(matchLabels).every(([name, value]) =>
    labels[name] === value
  ) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      switch (operator) {
        case "Exists":
          return value !== undefined;
        case "DoesNotExist":
          return value === undefined;
        case "In":
          return value !== undefined && values.includes(value);
        case "NotIn":
          return value === undefined || !values.includes(value);
      }
    });
}
