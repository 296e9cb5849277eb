import { namespace, objectName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

/** Kubernetes metadata; the fields that only a cluster writes are accepted and not used. */
export const metadataSchema = s.object({
  name: s.field("Name, unique in its namespace and kind.", objectName),
  namespace: s.field(
    "Where the resource lives; references stay inside it unless they say otherwise.",
    s.withDefault(namespace, "default"),
  ),
  creationTimestamp: s.field(
    "When it was created; of policies and routes in conflict the oldest wins.",
    s.optional(s.nullable(s.string())),
  ),
  labels: s.field(
    "Accepted and not used.",
    s.optional(s.map(s.string(), s.string())),
  ),
  annotations: s.field(
    "Accepted and not used.",
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
    "Written by a cluster; accepted and not used.",
    s.optional(s.unknown()),
  );
}

/** Kubernetes metadata of a resource. */
export type Metadata = s.Infer<typeof metadataSchema>;

/** Schema of a kind: `apiVersion`, `kind`, `metadata`, `spec` and a `status` that is ignored. */
export function resource<
  const V extends string,
  const K extends string,
  S extends s.GenericSchema,
>(apiVersion: V, kind: K, spec: S) {
  return s.object({
    apiVersion: s.field(
      "Group and version of the kind.",
      s.literal(apiVersion),
    ),
    kind: s.field("What the document describes.", s.literal(kind)),
    metadata: s.field("Name and namespace.", metadataSchema),
    spec: s.field("What is wanted.", spec),
    status: s.field(
      "Written by a cluster; accepted and not used.",
      s.optional(s.unknown()),
    ),
  });
}
