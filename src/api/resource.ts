import { namespace, objectName } from "./scalars.ts";
import * as s from "./schema.ts";

/** Kubernetes metadata; the fields that only a cluster writes are accepted and not used. */
export const metadataSchema = s.object({
  name: objectName,
  namespace: s.withDefault(namespace, "default"),
  creationTimestamp: s.optional(s.nullable(s.string())),
  labels: s.optional(s.map(s.string(), s.string())),
  annotations: s.optional(s.map(s.string(), s.string())),
  generation: s.optional(s.unknown()),
  generateName: s.optional(s.unknown()),
  resourceVersion: s.optional(s.unknown()),
  uid: s.optional(s.unknown()),
  managedFields: s.optional(s.unknown()),
  ownerReferences: s.optional(s.unknown()),
  finalizers: s.optional(s.unknown()),
  deletionTimestamp: s.optional(s.unknown()),
  deletionGracePeriodSeconds: s.optional(s.unknown()),
});

/** Kubernetes metadata of a resource. */
export type Metadata = s.Infer<typeof metadataSchema>;

/** Schema of a kind: `apiVersion`, `kind`, `metadata`, `spec` and a `status` that is ignored. */
export function resource<
  const V extends string,
  const K extends string,
  S extends s.GenericSchema,
>(apiVersion: V, kind: K, spec: S) {
  return s.object({
    apiVersion: s.literal(apiVersion),
    kind: s.literal(kind),
    metadata: metadataSchema,
    spec,
    status: s.optional(s.unknown()),
  });
}
