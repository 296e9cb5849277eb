import type { Metadata } from "../api/resources/resource.ts";

interface Ranked {
  readonly metadata: Pick<Metadata, "creationTimestamp" | "namespace" | "name">;
}

/**
 * Orders resources for conflicts as the Gateway API does: the oldest first, then by `namespace/name`.
 * Resources without a timestamp, as in files, are the oldest.
 */
export function comparePrecedence(a: Ranked, b: Ranked): number {
  return createdAt(a) - createdAt(b) ||
    compareText(namespacedName(a), namespacedName(b));
}

/** Returns `namespace/name`, which messages and keys contain. */
export function namespacedName({ metadata }: Ranked): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function createdAt({ metadata }: Ranked): number {
  const time = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(time) ? 0 : time;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
