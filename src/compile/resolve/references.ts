import type { SecretRef } from "../../api/resources/credentials/secret_value.ts";
import type {
  ConfigMap,
  ReferenceGrant,
  Secret,
  Service,
} from "../../api/resources/cluster_kinds.ts";
import type { AllowedNamespaces } from "../../api/resources/gateway_resource.ts";
import type { ObjectRef } from "../../api/resources/gateway_tls.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import type { View } from "../memory/compile_memory.ts";
import { selects } from "./namespace_selector.ts";
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

  /** Reports whether resources of `namespace` may attach to one of namespace `owner`; a namespace that is not known has no labels. */
  allowsNamespace(
    { from, selector }: AllowedNamespaces,
    { owner, namespace }: Readonly<Record<"owner" | "namespace", string>>,
  ): boolean {
    switch (from) {
      case "All":
        return true;
      case "Same":
        return owner === namespace;
      case "Selector":
        return selects(selector, {
          "kubernetes.io/metadata.name": namespace,
          ...this.#labels.get(namespace),
        });
      default:
        return false;
    }
  }
}

function byName<R extends Parameters<typeof namespacedName>[0]>(
  resources: readonly R[],
): ReadonlyMap<string, R> {
  return new Map(resources.map((each) => [namespacedName(each), each]));
}

/** Reads a text file by its path in the configuration; throws when it cannot. */
export type ReadFile = (path: string) => string;

/** Settings of the process that say what backends may do. */
export interface BackendSettings {
  /** True if backends of a cluster may have programs that the gateway runs, as those of files may. */
  readonly clusterStdio?: boolean;
  /** True if backends of a cluster may have the gateway's own identities of clouds, as those of files may. */
  readonly clusterCloudIdentity?: boolean;
  /** True if the process has given up the permission to run programs. */
  readonly lacksPrograms?: boolean;
  /** True if users can log in at services behind backends. */
  readonly connectsUsers?: boolean;
}

/** The inputs of a compilation that results depend on. */
export interface CompileInputs extends BackendSettings {
  /** Reads each file once. */
  readonly readFile: ReadFile;
  /** Ports on the loopback interface that backends of a cluster may have. */
  readonly loopbackPorts: ReadonlySet<number>;
  /** Decides which hosts backends may have. */
  readonly egress: EgressPolicy;
  /** See `ResourceSet`. */
  readonly isolatesErrors: boolean;
  readonly references: References;
}

/** View of the inputs, which records what a result reads. */
export type Inputs = View<CompileInputs>;

/** Reports whether a resource may refer to another. */
export function mayRefer(
  from: Referrer,
  to: Referent,
  inputs: Inputs,
): boolean {
  return from.namespace === to.namespace ||
    inputs.read(({ references }) => references.grantsFor(from, to).length > 0);
}

/** A reference that cannot be used. */
export class UnresolvedReferenceError extends TypeError {
  readonly reason: "NotPermitted" | "UnknownKind" | "Invalid";

  constructor(reason: UnresolvedReferenceError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Returns the Secret of a reference. @throws {UnresolvedReferenceError} */
export function findSecret(
  from: Referrer,
  to: ObjectRef,
  inputs: Inputs,
): Secret {
  return find("Secret", ({ secrets }) => secrets, { from, to, inputs });
}

/** Returns the ConfigMap of a reference. @throws {UnresolvedReferenceError} */
export function findConfigMap(
  from: Referrer,
  to: ObjectRef,
  inputs: Inputs,
): ConfigMap {
  const reference = { from, to, inputs };
  return find("ConfigMap", ({ configMaps }) => configMaps, reference);
}

function find<R>(
  expected: string,
  listOf: (references: References) => ReadonlyMap<string, R>,
  { from, to, inputs }: {
    readonly from: Referrer;
    readonly to: ObjectRef;
    readonly inputs: Inputs;
  },
): R {
  const { group, kind, name, namespace = from.namespace } = to;
  if (group !== "" || kind !== expected) {
    const problem = `kind "${kind}" is no "${expected}"`;
    throw new UnresolvedReferenceError("UnknownKind", problem);
  }
  const key = `${namespace}/${name}`;
  if (!mayRefer(from, { group, kind, namespace, name }, inputs)) {
    const problem =
      `no ReferenceGrant of namespace "${namespace}" allows ${kind} "${key}"`;
    throw new UnresolvedReferenceError("NotPermitted", problem);
  }
  const found = inputs.read(({ references }) => listOf(references).get(key));
  if (found !== undefined) return found;
  throw new UnresolvedReferenceError("Invalid", `${kind} "${key}" not found`);
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
  const reference = { group: "", kind: "Secret", namespace, name };
  const { data = {}, stringData = {} } = findSecret(from, reference, inputs);
  const wanted = key ?? entry;
  const encoded = ownValue(data, wanted);
  const plain = ownValue(stringData, wanted);
  const value = encoded === undefined ? plain : decode(encoded);
  if (value !== undefined) return value;
  const path = `${namespace}/${name}`;
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

/** Reads a file that a resource names. @throws When it cannot; a missing file is named without an error number. */
export function readNamedFile(path: string, inputs: Inputs): string {
  try {
    return readFileOf(inputs)(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new TypeError(`no such file "${path}"`);
  }
}
