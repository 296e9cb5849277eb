import type { SecretRef } from "../../api/resources/credentials/secret_value.ts";
import type { Metadata } from "../../api/resources/resource.ts";
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
import type { ListenerSet } from "../../api/resources/listener_set.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import type { View } from "../memory/compile_memory.ts";

interface Ranked {
  readonly metadata: Pick<Metadata, "creationTimestamp" | "namespace" | "name">;
}

/**
 * Orders resources for conflicts as the Gateway API does: the oldest first, then by `namespace/name`.
 * Resources without a timestamp, as in files, are the oldest.
 */
export function comparePrecedence(a: Ranked, b: Ranked): number {
  const difference = createdAt(a) - createdAt(b);
  if (difference !== 0) return difference;
  return a.metadata.namespace === b.metadata.namespace
    ? compareText(a.metadata.name, b.metadata.name)
    : compareText(namespacedName(a), namespacedName(b));
}

/** Returns `namespace/name`, which messages and keys contain. */
export function namespacedName({ metadata }: Ranked): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Parsed times: sorting thousands of routes reads each of them a dozen times. */
const times = new WeakMap<Ranked["metadata"], number>();

function createdAt({ metadata }: Ranked): number {
  if (metadata.creationTimestamp === undefined) return 0;
  return times.getOrInsertComputed(metadata, parseTime);
}

function parseTime({ creationTimestamp }: Ranked["metadata"]): number {
  const time = Date.parse(creationTimestamp ?? "");
  return Number.isNaN(time) ? 0 : time;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns the gateway of a listener set: `namespace/name`. */
export function gatewayOfSet({ metadata, spec }: ListenerSet): string {
  const { namespace = metadata.namespace, name } = spec.parentRef;
  return `${namespace}/${name}`;
}

/** Reads a text file by its path in the configuration; throws when it cannot. */
export type ReadFile = (path: string) => string;

/** The inputs of a compilation that results depend on. */
export type Inputs = View<{
  /** Reads each file once. */
  readonly readFile: ReadFile;
  /** Ports on the loopback interface that backends of a cluster may have. */
  readonly loopbackPorts: ReadonlySet<number>;
  /** Decides which hosts backends may have. */
  readonly egress: EgressPolicy;
  /** Reason for which the gateway runs no programs of backends; `undefined` if it does. */
  readonly programDenial: string | undefined;
  /** Reason for which backends do not get the gateway's own identities of clouds; `undefined` if they do. */
  readonly cloudDenial: string | undefined;
  /** True if users can log in at services behind backends. */
  readonly connectsUsers: boolean;
  readonly references: References;
}>;

/** Reads a file. @throws When it cannot; then the result is not remembered. */
export function readFileOf(inputs: Inputs): ReadFile {
  return (path) =>
    inputs.read(({ readFile }) => {
      try {
        return readFile(path);
      } catch {
        return undefined;
      }
    }) ?? inputs.all.readFile(path);
}

/** Reports whether a resource may refer to another. */
export function mayRefer(
  from: Referrer,
  to: Referent,
  inputs: Inputs,
): boolean {
  return from.namespace === to.namespace ||
    inputs.read(({ references }) => references.isAllowed(from, to));
}

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

/**
 * Returns an entry of a Secret as text. @param entry Default of `key`.
 * @throws {TypeError} When the Secret does not exist, has no such entry, or may not be referred to.
 */
export function readSecretValue(
  from: Referrer,
  { name, namespace = from.namespace, key, entry }: SecretRef & {
    readonly entry: string;
  },
  inputs: Inputs,
): string {
  const path = `${namespace}/${name}`;
  const to = { group: "", kind: "Secret", namespace, name };
  if (!mayRefer(from, to, inputs)) {
    throw new TypeError(
      `no ReferenceGrant of namespace "${namespace}" allows Secret "${path}"`,
    );
  }
  const secret = inputs.read(({ references }) => references.secrets.get(path));
  if (secret === undefined) throw new TypeError(`Secret "${path}" not found`);
  const { data = {}, stringData = {} } = secret;
  const wanted = key ?? entry;
  const encoded = ownValue(data, wanted);
  const value = encoded === undefined
    ? ownValue(stringData, wanted)
    : decode(encoded);
  if (value !== undefined) return value;
  throw new TypeError(
    encoded === undefined
      ? `Secret "${path}" has no entry "${wanted}"`
      : `entry "${wanted}" of Secret "${path}" is not base64 of UTF-8 text`,
  );
}

function ownValue(
  values: Readonly<Record<string, string>>,
  name: string,
): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function decode(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.fromBase64(base64);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
