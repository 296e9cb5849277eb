import { isJsonObject } from "../../base/json.ts";

/** Metadata of an object in the cluster. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly OwnerReference[];
}

/** The object that another is deleted with. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

/** An object of any kind. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** Reports whether a value of the API server is an object; trusts the types of its metadata. */
export function isKubernetesObject(value: unknown): value is KubernetesObject {
  if (!isJsonObject(value)) return false;
  const { metadata } = value;
  return isJsonObject(metadata) &&
    (metadata["name"] === undefined || typeof metadata["name"] === "string");
}

/** Formats the key of an object in its collection: `namespace/name`, or `name`. */
export function objectKey({ metadata }: KubernetesObject): string {
  return metadata.namespace === undefined
    ? metadata.name
    : `${metadata.namespace}/${metadata.name}`;
}

/** Drops the field that doubles the size of most objects. */
export function withoutManagedFields(
  object: KubernetesObject,
): KubernetesObject {
  const { managedFields: _, ...metadata }: ObjectMeta & {
    readonly managedFields?: unknown;
  } = object.metadata;
  return { ...object, metadata };
}

/** Reports whether two copies are the same version of the same object. */
export function isSameVersion(
  { metadata: one }: KubernetesObject,
  { metadata: other }: KubernetesObject,
): boolean {
  return one.uid === other.uid && one.resourceVersion === other.resourceVersion;
}
