import { namespace, objectName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

/** Kubernetes metadata; fields that only a cluster writes are accepted, but ignored. */
export const metadataSchema = s.object({
  name: s.field("Name, unique in its namespace and kind.", objectName),
  namespace: s.field(
    "Namespace of the resource; references resolve in it unless they name another.",
    s.withDefault(namespace, "default"),
  ),
  creationTimestamp: s.field(
    "Creation time; of conflicting policies or routes, the oldest wins.",
    s.optional(s.nullable(s.string())),
  ),
  labels: s.field(
    "Accepted, but ignored.",
    s.optional(s.map(s.string(), s.string())),
  ),
  annotations: s.field(
    "Accepted, but ignored.",
    s.optional(s.map(s.string(), s.string())),
  ),
  generation: writtenByCluster(),
  generateName: writtenByCluster(),
  resourceVersion: writtenByCluster(),
  uid: writtenByCluster(),
  managedFields: writtenByCluster(),
  ownerReferences: writtenByCluster(),
  finalizers: writtenByCluster(),
  deletionTimestamp: writtenByCluster(),
  deletionGracePeriodSeconds: writtenByCluster(),
});

function writtenByCluster() {
  return s.field(
    "Written by clusters; accepted, but ignored.",
    s.optional(s.unknown()),
  );
}

/** Kubernetes metadata of a resource. */
export type Metadata = s.Infer<typeof metadataSchema>;

/** Fields that every kind begins with. */
export function identityEntries<
  const V extends string,
  const K extends string,
>(apiVersion: V, kind: K) {
  return {
    apiVersion: s.field(
      "Group and version of the kind.",
      s.literal(apiVersion),
    ),
    kind: s.field("Kind of the resource.", s.literal(kind)),
    metadata: s.field("Name and namespace.", metadataSchema),
  };
}

/** Schema of a kind: `apiVersion`, `kind`, `metadata`, `spec` and an ignored `status`. */
export function resource<
  const V extends string,
  const K extends string,
  S extends s.GenericSchema,
>(apiVersion: V, kind: K, spec: S) {
  return s.object({
    ...identityEntries(apiVersion, kind),
    spec: s.field("Desired state.", spec),
    status: s.field(
      "Written by clusters; accepted, but ignored.",
      s.optional(s.unknown()),
    ),
  });
}
